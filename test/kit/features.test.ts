// What processes do besides running workflows, on the clock of the test.

import { expect, test } from 'vitest'
import { activity, channel, compression, encryption, workflow } from '../../src/index.ts'
import { crashEverywhere, openTest, stub } from '../../src/testing/index.ts'

test('a schedule of each hour starts 168 instances in a week', async () => {
  const hours: string[] = []
  const report = workflow('report', async (_, ctx) => {
    await ctx.step('note', () => void hours.push(ctx.now().toISOString()))
  })
  await using t = await openTest({ register: report })

  await t.schedule('hourly', { cron: '0 * * * *', timezone: 'UTC' }, report)
  await t.advance('7d')

  expect(new Set(hours).size).toBe(168)
  expect(hours.at(-1)).toBe('2030-01-08T00:00:00.000Z')
})

test('another workflow with its name stands in for a child', async () => {
  const child = workflow('child', async (_: void, ctx) => ctx.sleep('1d').then(() => 'real'))
  const parent = workflow('parent', async (_: void, ctx) => ctx.run(child))
  const fake = workflow('child', async () => 'fake')
  await using t = await openTest({ register: [parent, fake] })

  expect(await t.run(parent)).toBe('fake')
})

interface Job {
  readonly customer: string
}

test('a limit by key lets so many of a customer run at a time', async () => {
  const work = activity<Job, void>('work')
  const job = workflow(
    'job',
    { limit: { concurrency: 2, key: ({ customer }: Job) => customer } },
    async (input, ctx) => {
      await ctx.run(work, input)
      return ctx.now().toISOString().slice(8, 10)
    },
  )
  const takesDay = stub(work, async (_, __, { sleep }) => sleep('1d'))
  await using t = await openTest({ register: job, stubs: [takesDay] })

  const jobs = []
  for (const customer of ['acme', 'acme', 'acme', 'acme', 'tiny']) {
    jobs.push(await t.start(job, { customer }))
  }

  expect(await Promise.all(jobs.map((one) => one.result()))).toEqual(['02', '02', '03', '03', '02'])
})

test('a rate lets one activity begin each hour', async () => {
  const call = activity('call', { limit: { rate: { count: 1, per: '1h' } } }, async () => {})
  const job = workflow('job', async (_: void, ctx) => {
    await ctx.run(call)
    return ctx.now().toISOString().slice(11, 16)
  })
  await using t = await openTest({ register: job })

  const jobs = [await t.start(job), await t.start(job), await t.start(job)]

  expect(await Promise.all(jobs.map((one) => one.result()))).toEqual(['00:00', '01:00', '02:00'])
})

test('values are compressed and encrypted as in production, and survive every crash', async () => {
  const findings = channel<string>('findings')
  const visit = workflow('visit', async (patient: string, ctx) => {
    await ctx.sleep('1d')
    return `${patient}: ${await ctx.receive(findings)}`
  })
  const key = { id: '2030', key: Buffer.alloc(32, 1).toString('base64') }

  const report = await crashEverywhere(() => ({
    register: visit,
    codec: [compression(), encryption({ keys: [key] })],
    scenario: async (t) => {
      const one = await t.start(visit, 'Ada Lovelace', { id: 'ada' })
      await one.send(findings, 'all is well')
      return one.result()
    },
    check: (result, t) => {
      expect(result).toBe('Ada Lovelace: all is well')
      const stored = t.database.prepare('select * from history').all()
      expect(stored.length).toBeGreaterThan(0)
      expect(textOf(stored)).not.toMatch(/Lovelace|all is well/)
    },
  }))

  expect(report.runs).toBeGreaterThanOrEqual(4)
})

/** All that rows contain, bytes as text. */
function textOf(rows: readonly unknown[]): string {
  return rows
    .flatMap((row) => Object.values(row as object))
    .map((value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
    )
    .join('\n')
}
