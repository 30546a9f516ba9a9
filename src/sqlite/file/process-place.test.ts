import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { fateOf, isGone, ownProcess } from './process-place.ts'

const [place, , began] = ownProcess().split(/ (?=\d)/) as [string, string, string]
const [host, boot, namespace] = place.split('/') as [string, string, string]
/** Only Linux says enough about processes. */
const onLinux = { skip: process.platform !== 'linux' }

function endedPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid
}

test('this process is there', () => {
  expect(fateOf(ownProcess())).toBe('there')
})

test('a process that has ended is gone', () => {
  expect(fateOf(`${place} ${endedPid()} ${began}`)).toBe('gone')
  expect(isGone(`${place} ${endedPid()}`)).toBe(true)
})

test('a process of an earlier boot is gone, whatever has its number now', onLinux, () => {
  const earlier = `${host}/11111111-2222-3333-4444-555555555555/pid:[4026531836]`
  // In a container, it is unknown whose boot that is.
  const fate = namespace === 'pid:[4026531836]' ? 'gone' : 'unknown'

  expect(fateOf(`${earlier} ${process.pid} ${began}`)).toBe(fate)
  expect(fateOf(`elsewhere${earlier} ${endedPid()} ${began}`)).toBe(fate)
})

test('in a container that shows a boot of its own, the state is unknown', onLinux, () => {
  const container = `${host}/11111111-2222-3333-4444-555555555555/pid:[1]`

  expect(fateOf(`${container} ${process.pid} ${began}`)).toBe('unknown')
})

test('a process whose pid was reused is gone', onLinux, () => {
  expect(fateOf(`${place} ${process.pid} ${Number(began) - 1}`)).toBe('gone')
})

test('a zombie process is gone', onLinux, async () => {
  // The shell's child ends when it may no longer read; what has taken the shell's place by then
  // never asks for it.
  const parent = spawn('sh', ['-c', 'read line <&3 & echo $!; exec sleep 60 3<&-'], {
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  })
  const within = { timeout: 15_000 }
  try {
    const [line] = (await once(parent.stdio[1] as Readable, 'data')) as [Buffer]
    const child = line.toString().trim()
    await expect
      .poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8'), within)
      .toBe('sleep\n')
    ;(parent.stdio[3] as Writable).end()
    await expect.poll(() => readFileSync(`/proc/${child}/stat`, 'utf8'), within).toMatch(/\) Z /)

    expect(isGone(`${place} ${child}`)).toBe(true)
  } finally {
    parent.kill()
  }
})

test('the state of a process in another container is unknown', () => {
  expect(fateOf(`${host}/${boot}/pid:[1] ${endedPid()} ${began}`)).toBe('unknown')
  expect(fateOf('')).toBe('unknown')
})

test('a host may have any name, and without the boot the state is unknown', () => {
  expect(fateOf(`odd 1/ name/${boot}/${namespace} ${process.pid} ${began}`)).toBe(
    boot === '' ? 'unknown' : 'there',
  )
  expect(fateOf(`elsewhere// ${endedPid()} `)).toBe('unknown')
})
