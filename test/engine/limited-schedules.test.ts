// Where schedules, limits of workflows, priorities, administration and codecs meet.

import { expect, test } from 'vitest'

import {
  channel,
  compression,
  encryption,
  type ScheduleInfo,
  type Schedules,
  workflow,
} from '../../src/index.ts'
import { describeOnStoresAtOnce, eventually, openSpace } from '../support/engine.ts'

const go = channel<string>('go')
const codec = [
  compression(),
  encryption({ keys: [{ id: 'first', key: new Uint8Array(32).fill(1) }] }),
]

interface Export {
  readonly customer: string
}

/** A workflow that notes which instances began, and ends when a message arrives. */
function exports(concurrency = 1) {
  const begun = new Set<string>()
  const limit = { concurrency, key: ({ customer }: Export) => customer }
  const exporting = workflow('export', { limit }, async ({ customer }: Export, ctx) => {
    begun.add(ctx.info.id)
    await ctx.receive(go)
    return customer
  })
  return { exporting, begun }
}

function scheduleThat(
  schedules: Schedules,
  name: string,
  is: (info: ScheduleInfo) => boolean,
): Promise<ScheduleInfo> {
  return eventually(async () => {
    const info = (await schedules.get(name))!
    return is(info) && info
  })
}

describeOnStoresAtOnce('schedules of workflows with a limit, encrypted', (kind) => {
  test.each(['skip', 'queue'] as const)(
    'with %s, an instance in line counts as running, and comes before those of lower priority',
    async (overlap) => {
      await using space = await openSpace(kind)
      const { exporting, begun } = exports()
      const holdfast = await space.open(exporting, { codec })
      const client = space.connect({ codec })
      const acme = { customer: 'acme' }
      const first = await client.start(exporting, acme, { id: 'first' })
      await eventually(() => begun.size === 1)
      await client.start(exporting, acme, { id: 'low' })

      await client.schedule('hourly', { every: '1s', overlap }, exporting, acme, { priority: 5 })
      // A due time has been left out, or waits.
      const info = await scheduleThat(
        client.schedules,
        'hourly',
        ({ started, skipped, nextRuns }) =>
          overlap === 'skip'
            ? skipped.count > 0
            : started > 0 && nextRuns[0]!.getTime() < Date.now() - 1_000,
      )

      const [id] = info.running
      expect(info).toMatchObject({ started: 1, running: [id] })
      expect((await client.list({ labels: { schedule: 'hourly' } })).items).toMatchObject([
        { id, status: 'scheduled' },
      ])
      expect((await client.get(id!).info())!.waitingFor).toEqual([
        `its workflow's limit of 1 at a time for key "acme"`,
      ])
      await first.send(go, 'on')
      await eventually(() => begun.size === 2)
      expect([...begun]).toEqual(['first', id])
      await client.get(id!).send(go, 'on')
      const next = await scheduleThat(client.schedules, 'hourly', ({ started }) => started > 1)
      expect(next.running).not.toContain(id)
      await holdfast.schedules.delete('hourly')
    },
  )
})

describeOnStoresAtOnce('administration of instances in line', (kind) => {
  test('bulk calls reach them, and places go to the next', async () => {
    await using space = await openSpace(kind)
    const { exporting, begun } = exports(2)
    await space.open(exporting, { codec })
    const client = space.connect({ codec })
    for (let i = 0; i < 12; i++) {
      const labels = { half: i < 6 ? 'first' : 'second' }
      await client.start(exporting, { customer: 'acme' }, { id: `export-${i}`, labels })
    }
    await eventually(() => begun.size === 2)
    expect(await client.admin.count({ status: 'scheduled' })).toBe(10)

    // Those that run keep their places; those in line are passed.
    expect(await client.admin.suspend({ labels: { half: 'first' } }, 'a fix')).toBe(6)
    expect(await client.admin.terminate(['export-0', 'export-1'])).toBe(2)
    await eventually(() => begun.size === 4)
    expect([...begun].slice(2).toSorted()).toEqual(['export-6', 'export-7'])

    expect(await client.admin.resume({ status: 'suspended' })).toBe(4)
    await eventually(async () => (await client.admin.count({ status: 'scheduled' })) === 8)
    expect(await client.admin.delete({ labels: { half: 'second' } }, { force: true })).toBe(6)
    await eventually(() => begun.size === 6)
    expect([...begun].slice(4).toSorted()).toEqual(['export-2', 'export-3'])

    const again = { id: 'export-2', onConflict: 'restart' } as const
    await client.start(exporting, { customer: 'acme' }, again)
    await eventually(() => begun.has('export-4'))
    expect((await client.get('export-2').info())!.status).toBe('scheduled')

    expect(await client.admin.cancel({ workflow: 'export' }, 'enough')).toBe(4)
    const unfinished = { status: ['scheduled', 'running'] } as const
    await eventually(async () => (await client.admin.count(unfinished)) === 0)
    expect(await client.admin.delete({ workflow: exporting })).toBe(6)
    expect(begun.has('export-5')).toBe(false)
    expect((await client.list()).items).toEqual([])
  })
})
