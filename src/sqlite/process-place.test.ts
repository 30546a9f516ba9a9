import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { isGone, ownProcess } from './process-place.ts'

const place = ownProcess().slice(0, ownProcess().lastIndexOf(' '))

test('this process is there', () => {
  expect(isGone(ownProcess())).toBe(false)
})

test('a process that has ended is gone', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])

  expect(isGone(`${place} ${pid}`)).toBe(true)
})

test('a process of another place is never taken for gone', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])

  expect(isGone(`elsewhere/boot/ns ${pid}`)).toBe(false)
  expect(isGone('')).toBe(false)
})
