import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { MIGRATIONS, PROCEDURES } from '../../src/postgres/schema/sql.generated.ts'
import * as numbers from '../../src/postgres/wire/numbers.ts'
import * as conditions from '../../src/store/claimable.ts'
import * as constants from '../../src/store/constants.ts'

// A rule that both databases use is written once: these tests find a second copy.

const SRC = join(import.meta.dirname, '../../src')

const PROCEDURE_FILES = [
  ...textsIn('postgres/procedures', '.sql'),
  ...textsIn('postgres/outbox/procedures', '.sql'),
]
const SQLITE_FILES = textsIn('sqlite', '.ts').filter(({ file }) => !file.startsWith('queue'))

/** What SQLite calls; PostgreSQL's procedures are compared with it: see verdicts.test.ts. */
const RULE_FILES = textsIn('store', '.ts').filter(({ file }) => /^(rates|verdicts)\.ts$/.test(file))

/** Only the engine uses these. */
const ENGINE_ONLY = ['MAX_DEATHS']

/** Only in procedures: what they are about is not bounded in SQLite, or not delayed. */
const POSTGRES_ONLY = [
  'MAX_MESSAGES_PARKED',
  'FIRST_TURN_FAR_MS',
  // SQLite has no rows that another transaction has locked.
  'MAX_SKIPPED',
  'MAX_LINES_CHECKED',
]

/** Others are made of these: they occur in no statement. */
const PARTS = ['MAX_UNSTARTED_IN_ALL']

const SHARED = Object.keys(constants).filter(
  (name) => ![...ENGINE_ONLY, ...POSTGRES_ONLY, ...PARTS].includes(name),
)

test.each(SHARED)('%s is used by both databases', (name) => {
  expect(PROCEDURE_FILES.some(({ code }) => new RegExp(`:${name}\\b`).test(code))).toBe(true)
  const files = [...SQLITE_FILES, ...RULE_FILES]
  expect(files.some(({ code }) => new RegExp(`\\b${name}\\b`).test(code))).toBe(true)
})

test.each(POSTGRES_ONLY)('%s is used by procedures', (name) => {
  expect(PROCEDURE_FILES.some(({ code }) => code.includes(`:${name}`))).toBe(true)
})

test('the indexes of both databases have the constants in their conditions', () => {
  const migrations = textsIn('sqlite/migrations', '.ts').map(({ code }) => code)
  const [postgres, sqlite] = [MIGRATIONS.map(({ sql }) => sql).join(), migrations.join()]

  expect(postgres).toContain(`attempts < ${constants.QUARANTINE_DEATHS};`)
  expect(postgres).toContain(`id % ${constants.UNSTARTED_SAMPLE} = 0`)
  expect(sqlite).toContain(`attempts < ${constants.QUARANTINE_DEATHS};`)
  expect(sqlite).toContain(`deaths < ${constants.QUARANTINE_DEATHS};`)
  expect(sqlite).toContain(`id % ${constants.UNSTARTED_SAMPLE} = 0`)
})

describe('what can be claimed', () => {
  test.each(Object.keys(conditions))('%s is read by both databases', (name) => {
    // Procedures read that an instance is admitted as a part of other conditions.
    const inProcedures = name === 'ADMITTED' ? 'ORDINARY' : name
    const read = new RegExp(`:${inProcedures}\\b`)
    expect(PROCEDURE_FILES.some(({ code }) => read.test(code))).toBe(true)
    expect(SQLITE_FILES.some(({ code }) => code.includes(`\${${name}}`))).toBe(true)
  })

  test.each(Object.entries(conditions))('%s is the same text in both', (_, condition) => {
    expect(PROCEDURES.some(({ sql }) => sql.includes(condition))).toBe(true)
  })

  test('is written out nowhere else', () => {
    const copies = [...PROCEDURE_FILES, ...SQLITE_FILES].filter(({ code }) =>
      /epoch > 0 or \w*\.?wake_at is null\)|owner is null\s+and (?:not )?\w*\.?held/.test(code),
    )

    expect(copies.map(({ file }) => file)).toEqual([])
  })
})

test('the embedded procedures contain no placeholder', () => {
  const left = PROCEDURES.filter(({ sql }) => /(?<![:\w]):[A-Z]/.test(sql))

  expect(left.map(({ name }) => name)).toEqual([])
})

test('the embedded procedures contain the values', () => {
  const lane = PROCEDURES.find(({ name }) => name.endsWith('/task_lane'))!

  expect(lane.sql).toContain(`p_deaths < ${constants.QUARANTINE_DEATHS}`)
  expect(PROCEDURES.some(({ sql }) => sql.includes(`'${numbers.VERDICT.untried}'`))).toBe(true)
})

describe('no statement compares with a bare number', () => {
  // What each of these columns and variables is compared with has a name.
  const NAMED =
    /(?<![a-z])(status|statuses\[n\]|kind|on_close|ending|deaths)( is distinct from| (?:<>|[<>]=?|=|\+) )\s*\d/
  const RUNTIME_STATE = /(?<![a-z])state( is distinct from| (?:<>|=)) \d/
  const DEATHS_OF_INSTANCE = /(?<![a-z])attempts (?:<|>|>=) [1-9]/
  const BARE = [NAMED, RUNTIME_STATE, DEATHS_OF_INSTANCE]
  // A value of its own: whether any owner died at all.
  const ALLOWED = /\bdeaths (?:[>=] 0|\+ \d)\b/g

  test.each([
    ['procedures', PROCEDURE_FILES],
    ['operations of SQLite', SQLITE_FILES],
  ])('in %s', (_, files) => {
    const found = files.flatMap(({ file, code }) =>
      code
        .split('\n')
        .filter((line) => BARE.some((bare) => bare.test(line.replaceAll(ALLOWED, ''))))
        .map((line) => `${file}: ${line.trim()}`),
    )

    expect(found).toEqual([])
  })

  test('finds one', () => {
    expect(BARE.some((bare) => bare.test('and r.attempts < 2'))).toBe(true)
    expect(BARE.some((bare) => bare.test('where i.status = 1'))).toBe(true)
    expect(BARE.some((bare) => bare.test('when r.state is distinct from 2'))).toBe(true)
  })
})

/** The files of a folder without its comments, migrations and tests. */
function textsIn(folder: string, end: string): { readonly file: string; readonly code: string }[] {
  return readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(end) && !/\.test\.ts$|migrations\//.test(file))
    .map((file) => ({
      file,
      code: readFileSync(join(SRC, folder, file), 'utf8').replaceAll(
        /^\s*(--|\/\/|\*|\/\*).*$/gm,
        '',
      ),
    }))
}
