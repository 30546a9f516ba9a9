import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  activity,
  type ExportedHistory,
  failure,
  type HistoryEvent,
  type Instance,
  open,
  workflow,
} from '../../src/index.ts'
import { checkAgainst, checkReplay } from '../../src/testing/index.ts'
import { tempFile } from '../support/sqlite.ts'

const Declined = failure<{ missing: number }>('DeclinedInReplay', { retryable: false })
const charge = activity('charge', (cents: number) => {
  if (cents > 100) throw new Declined('too much', { missing: cents - 100 })
  return `receipt over ${cents}`
})
const pay = workflow('pay', async (cents: number, ctx) => {
  try {
    const receipt = await ctx.run(charge, cents)
    await ctx.sleep('30d')
    return receipt
  } catch (error) {
    if (!(error instanceof Declined)) throw error
    return ctx.step(`note ${error.details.missing}`, () => 'declined')
  }
})
const changed = workflow('pay', async (cents: number, ctx) => {
  await ctx.sleep('1h')
  return ctx.run(charge, cents)
})

/** Instances that wait, and one that has ended, with a failure in its history. */
async function instances(
  ...amounts: readonly number[]
): Promise<AsyncDisposable & { all: Instance[] }> {
  const runtime = await open('memory:', { register: pay, log: SILENT })
  const all = []
  for (const cents of amounts) all.push(await runtime.start(pay, cents, { id: `pay-${cents}` }))
  await runtime.idle()
  return { all, [Symbol.asyncDispose]: () => runtime.close() }
}

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

async function eventsOf(instance: Instance): Promise<HistoryEvent[]> {
  const events = []
  for await (const event of instance.history()) events.push(event)
  return events
}

describe('checkReplay', () => {
  test.each([
    ['an export', (instance: Instance) => instance.export()],
    ['an export that was JSON', async (instance: Instance) => throughJson(await instance.export())],
    ['the events of history()', eventsOf],
    ['history() itself', async (instance: Instance) => instance.history()],
  ])('it replays %s, running and ended', async (_, historyOf) => {
    await using given = await instances(50, 500)

    for (const instance of given.all) {
      const same = await checkReplay(pay, await historyOf(instance))
      expect(same).toEqual({ ok: true, report: 'the history replays' })
      const { ok, report } = await checkReplay(changed, await historyOf(instance))
      expect(ok).toBe(false)
      expect(report).toContain('command 1 was activity "charge" with input')
      expect(report).toMatch(/but the code now asks for a timer at .*exports\.test\.ts:\d+:\d+/)
      expect(report).toContain("if (ctx.patched('add timer')) {")
      expect(report).toContain("workflow('pay', { version: '1.1.0' }, …)")
    }
  })

  test('it names the last call of code that waits for nothing durable', async () => {
    const stuck = workflow('pay', async (cents: number, ctx) => {
      await ctx.run(charge, cents).catch(() => ctx.step(`note ${cents - 100}`, () => 'declined'))
      return new Promise(() => {})
    })
    await using given = await instances(500)

    const { ok, report } = await checkReplay(stuck, await given.all[0]!.export())

    expect(ok).toBe(false)
    expect(report).toMatch(/not durable .* after step "note 400" at .*exports\.test\.ts:\d+/)
  })

  test('it refuses a history of another workflow, and what is no history', async () => {
    await using given = await instances(50)
    const exported = await given.all[0]!.export()
    const other = workflow('other', async (n: number) => n)

    await expect(checkReplay(other, exported)).rejects.toThrow(
      'checkReplay: the history is of workflow "pay", but the code is that of "other"',
    )
    await expect(checkReplay(pay, [])).rejects.toThrow('checkReplay: the history is empty')
    // @ts-expect-error a promise
    await expect(checkReplay(pay, given.all[0]!.export())).rejects.toThrow(
      'checkReplay: the history is a promise; await it',
    )
    await expect(checkReplay(pay, undefined as never)).rejects.toThrow(
      'checkReplay: needs an exported history, got undefined',
    )
    await expect(checkReplay(pay, {} as ExportedHistory)).rejects.toThrow(
      'checkReplay: holdfast must be 1, got undefined',
    )
    const mistyped = { ids: 'a' } as object
    await expect(checkReplay(pay, exported, mistyped)).rejects.toThrow(/ids/)
  })

  test('the code sees the id of the instance', async () => {
    await using runtime = await open('memory:', { register: named })
    const instance = await runtime.start(named, undefined, { id: 'kim' })
    await runtime.idle()

    expect(await checkReplay(named, await instance.export())).toMatchObject({ ok: true })
    expect(await checkReplay(named, await eventsOf(instance))).toMatchObject({ ok: false })
    expect(await checkReplay(named, await eventsOf(instance), { id: 'kim' })).toMatchObject({
      ok: true,
    })
  })
})

test('a redacted export is compared by kinds and names', async () => {
  await using given = await instances(50)
  const exported = throughJson(await given.all[0]!.export({ redact }))
  const charged = { ...exported, events: exported.events.map(withOtherInput) }

  expect(exported.redacted).toBe(true)
  expect(JSON.stringify(exported)).not.toContain('receipt over')
  expect(await checkReplay(pay, exported)).toMatchObject({ ok: true })
  // The code computes another input than what the replaced values give.
  expect(await checkReplay(pay, charged)).toMatchObject({ ok: true })
  const { redacted: _, ...claimsToBeWhole } = charged
  expect(await checkReplay(pay, claimsToBeWhole)).toMatchObject({ ok: false })
  expect(await checkReplay(changed, exported)).toMatchObject({ ok: false })
})

function redact(value: unknown): unknown {
  return typeof value === 'number' ? 7 : 'secret'
}

function withOtherInput(event: HistoryEvent): HistoryEvent {
  return event.type === 'activity'
    ? { ...event, data: { ...(event.data as object), input: 8 } }
    : event
}

const named = workflow('named', async (_: undefined, ctx) => {
  await ctx.step(`for ${ctx.info.id}`, () => 1)
  await ctx.sleep('1d')
})

describe('checkAgainst exports', () => {
  test('it takes one, a list, a file, and a folder with files of one or many', async () => {
    await using given = await instances(50, 60, 500)
    const [first, second, third] = await Promise.all(given.all.map((one) => one.export()))
    using file = tempFile()
    const folder = join(file.folder, 'exports')
    mkdirSync(join(folder, 'more'), { recursive: true })
    writeFileSync(join(folder, 'one.json'), JSON.stringify(first))
    writeFileSync(join(folder, 'more', 'two.json'), JSON.stringify([second, third]))
    writeFileSync(join(folder, 'readme.txt'), 'no history')
    const checkedFrom = async (from: Parameters<typeof checkAgainst>[0]): Promise<number[]> => {
      const { checked, broken } = await checkAgainst(from, { register: changed })
      return [checked, broken]
    }

    expect(await checkedFrom(first!)).toEqual([1, 1])
    expect(await checkedFrom([first!, second!])).toEqual([2, 2])
    expect(await checkedFrom(join(folder, 'one.json'))).toEqual([1, 1])
    expect(await checkedFrom(folder)).toEqual([3, 3])
    expect(await checkAgainst(folder, { register: pay })).toMatchObject({ ok: true, checked: 3 })
    const { findings } = await checkAgainst(folder, { register: changed, running: 1 })
    expect(findings).toMatchObject([{ running: 1, finished: 1, change: 'added' }])
  })

  test('it says what is wrong with what it is given', async () => {
    using file = tempFile()
    writeFileSync(join(file.folder, 'a.json'), '{')

    await expect(checkAgainst(file.folder, { register: pay })).rejects.toThrow(
      /checkAgainst: cannot read .*a\.json: SyntaxError/,
    )
    await expect(checkAgainst('./exports', { register: pay })).rejects.toThrow(
      'checkAgainst: there is no folder or file "./exports" with exported histories; the URL of a store',
    )
    await expect(checkAgainst(String.raw`C:\exports`, { register: pay })).rejects.toThrow(
      'checkAgainst: there is no folder or file',
    )
    await expect(checkAgainst('mysql://localhost', { register: pay })).rejects.toThrow(
      'checkAgainst: the store must begin with "file:"',
    )
    await expect(checkAgainst(`file:${file.path}`, { register: pay })).rejects.toThrow(
      /there is no file .*test\.db/,
    )
    await expect(checkAgainst('memory:', { register: pay })).rejects.toThrow(/pass exports/)
    await expect(checkAgainst(1 as never, { register: pay })).rejects.toThrow(
      /checkAgainst: needs a store .*, got 1/,
    )
    await expect(checkAgainst([], {} as never)).rejects.toThrow(/register is missing/)
    await expect(checkAgainst([], { register: [] })).rejects.toThrow(
      'checkAgainst: register contains no workflow',
    )
  })

  test('unfinished instances of a version that is not registered break', async () => {
    await using given = await instances(50, 500)
    const exports = await Promise.all(given.all.map((one) => one.export()))
    const next = workflow('pay', { version: '2.0.0' }, async (n: number) => n)

    const { findings } = await checkAgainst(exports, { register: next })

    expect(findings).toMatchObject([{ kind: 'unregistered', running: 1, examples: ['pay-50'] }])
  })
})

test('an export that cannot be read is refused, with the file that has it', async () => {
  await using given = await instances(50)
  const exported = throughJson(await given.all[0]!.export())
  const events = exported.events.map((event) =>
    event.type === 'activity' ? { ...event, type: 'teleport' } : event,
  )

  using file = tempFile()
  const path = join(file.folder, 'new.json')
  writeFileSync(path, JSON.stringify({ ...exported, events }))

  await expect(checkAgainst({ ...exported, events }, { register: pay })).rejects.toThrow(
    'checkAgainst: event 2 (teleport) has the unknown type "teleport"; is it from a newer version?',
  )
  await expect(checkAgainst(file.folder, { register: pay })).rejects.toThrow(
    `checkAgainst ${path}: event 2 (teleport)`,
  )
})

function throughJson(exported: ExportedHistory): ExportedHistory {
  return JSON.parse(JSON.stringify(exported)) as ExportedHistory
}
