import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VERSION } from '../../src/base/version.ts'
import type { ExportedHistory } from '../../src/index.ts'
import { checkAgainst } from '../../src/testing/index.ts'
import { register } from '../fixtures/histories/workflows.ts'

const FOLDER = join(import.meta.dirname, '../fixtures/histories')

/** The events that an execution can have: a new one needs a history that has it. */
const TYPES = [
  'activity',
  'attempt',
  'cancelled',
  'child',
  'cleared',
  'completed',
  'dropped',
  'ended',
  'failed',
  'fired',
  'forked',
  'patched',
  'progress',
  'read',
  'receive',
  'received',
  'refused',
  'replied',
  'send',
  'set',
  'start',
  'started',
  'step',
  'timer',
  'unset',
]

const VERSIONS = readdirSync(FOLDER).filter((name) => /^\d/.test(name))

test.each(VERSIONS)('the histories that version %s wrote still replay', async (version) => {
  const files = readdirSync(join(FOLDER, version))

  const { findings, checked } = await checkAgainst(join(FOLDER, version), { register })

  expect(findings).toEqual([])
  expect(checked).toBe(files.length)
})

test('this version has recorded every kind of event', () => {
  const types = new Set<string>()
  for (const file of readdirSync(join(FOLDER, VERSION))) {
    const exported = JSON.parse(
      readFileSync(join(FOLDER, VERSION, file), 'utf8'),
    ) as ExportedHistory
    for (const { type } of exported.events) types.add(type)
  }

  expect([...types].toSorted()).toEqual(TYPES)
})
