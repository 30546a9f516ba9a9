import { expect, expectTypeOf, test } from 'vitest'

import {
  channel,
  type Client,
  NotFoundError,
  type ScheduleInfo,
  type Schedules,
  workflow,
} from '../../src/index.ts'
import { describeOnStoresAtOnce, eventually, openSpace } from '../support/engine.ts'

const note = workflow('note', async (text: string, ctx) => `${text} of ${ctx.info.id}`)
const finish = channel<string>('finish')
const wait = workflow('wait', async (_: undefined, ctx) => ctx.receive(finish))

const YEARLY = { cron: '0 0 1 1 *' }

const infoOf = async (client: Client, name: string): Promise<ScheduleInfo> =>
  (await client.schedules.get(name))!

describeOnStoresAtOnce('schedules', (kind) => {
  test('an interval starts instances, one for each due time', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(note)

    await holdfast.schedule('hourly', { every: '1s', overlap: 'allow' }, note, 'hi')
    const info = await eventually(async () => {
      const now = await infoOf(holdfast, 'hourly')
      return now.started >= 2 && now
    })

    const { instanceId, at } = info.lastRun!
    expect(instanceId).toBe(`hourly/${at.toISOString().replace('.000Z', 'Z')}`)
    const instance = holdfast.get(note, instanceId)
    expect(await instance.result()).toBe(`hi of ${instanceId}`)
    expect((await instance.info())?.labels).toEqual({ schedule: 'hourly' })
    expect(info.nextRuns[0]!.getTime() - at.getTime()).toBe(1_000)
  })

  test('a client without a runtime sets it; a runtime of another process fires it', async () => {
    await using space = await openSpace(kind)
    await space.open(note)
    const client = space.connect()

    await client.schedule('from-afar', { every: '1s' }, note, 'hi', { labels: { team: 'a' } })
    const { lastRun } = await eventually(async () => {
      const info = await infoOf(client, 'from-afar')
      return info.lastRun && info
    })

    const instance = client.get(note, lastRun!.instanceId)
    expect(await instance.result()).toBe(`hi of ${instance.id}`)
    expect((await instance.info())?.labels).toEqual({ team: 'a', schedule: 'from-afar' })
  })

  test('a runtime without the code starts instances for one that has it', async () => {
    await using space = await openSpace(kind)
    const other = await space.open(wait)
    await other.schedule('elsewhere', { every: '1s' }, note, 'hi')
    const { lastRun } = await eventually(async () => {
      const info = await infoOf(other, 'elsewhere')
      return info.lastRun && info
    })
    const waiting = await other.get(lastRun!.instanceId).info()

    await space.open(note)

    expect(waiting?.status).toBe('scheduled')
    expect(await other.get(lastRun!.instanceId).result()).toContain('hi of elsewhere/')
  })

  test('list and get show what it does next, and what it did', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const when = { cron: '30 9 * * MON', timezone: 'Europe/Berlin', catchUp: '2h' } as const
    await client.schedule('b', when, note, 'hi', { version: '1.2.0' })
    await client.schedule('a', { every: '1d', overlap: 'queue' }, wait)

    const [first, second, ...others] = await client.schedules.list()

    expect(others).toEqual([])
    expect(first).toMatchObject({
      name: 'a',
      workflow: 'wait',
      every: 86_400_000,
      overlap: 'queue',
      catchUp: 3_600_000,
      paused: false,
      running: [],
      started: 0,
      skipped: { count: 0 },
      missed: { count: 0 },
    })
    expect(first).not.toHaveProperty('version')
    expect(second).toMatchObject({
      name: 'b',
      workflow: 'note',
      version: '1.2.0',
      cron: '30 9 * * MON',
      timezone: 'Europe/Berlin',
      overlap: 'skip',
      catchUp: 7_200_000,
    })
    expect(second).not.toHaveProperty('every')
    expect(second).not.toHaveProperty('lastRun')
    expect(second!.nextRuns.map((date) => date.getUTCDay())).toEqual([1, 1, 1, 1, 1])
    expect(await client.schedules.get('a')).toEqual(first)
    expect(await client.schedules.get('unknown')).toBeUndefined()
  })

  test('the same call again changes nothing', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const set = () => client.schedule('same', { every: '10m' }, note, 'hi', { labels: { a: 'b' } })
    await set()
    const before = await infoOf(client, 'same')

    await set()

    expect(await infoOf(client, 'same')).toEqual(before)
    expect(
      space.log.lines.filter(({ message }) => /^schedule (created|changed)/.test(message)),
    ).toEqual([
      { level: 'info', message: 'schedule created', data: { schedule: 'same', workflow: 'note' } },
    ])
  })

  test('a change takes effect in place', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(note)
    await holdfast.schedule('changed', YEARLY, note, 'old')
    const before = await infoOf(holdfast, 'changed')

    await holdfast.schedule('changed', { every: '1s', overlap: 'allow' }, note, 'new')
    const after = await eventually(async () => {
      const info = await infoOf(holdfast, 'changed')
      return info.lastRun && info
    })

    expect(after.createdAt).toEqual(before.createdAt)
    expect(after).not.toHaveProperty('cron')
    expect(await holdfast.get(note, after.lastRun!.instanceId).result()).toMatch(/^new of/)
    expect((await holdfast.schedules.list()).length).toBe(1)
  })

  test('with skip, nothing starts while an instance runs; that is counted and logged', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(wait)
    await holdfast.schedule('one-at-a-time', { every: '1s' }, wait)

    const info = await eventually(async () => {
      const now = await infoOf(holdfast, 'one-at-a-time')
      return now.skipped.count > 0 && now
    })

    expect(info).toMatchObject({ started: 1, running: [info.lastRun!.instanceId] })
    expect(info.skipped.last).toBeInstanceOf(Date)
    const skipped = await eventually(() =>
      space.log.lines.find(({ message }) => message.startsWith('schedule skipped')),
    )
    expect(skipped).toMatchObject({
      level: 'info',
      data: { schedule: 'one-at-a-time', running: info.running },
    })
    await holdfast.get(info.running[0]!).send(finish, 'done')
    await eventually(async () => (await infoOf(holdfast, 'one-at-a-time')).started === 2)
  })

  test('with queue, the next one starts when the one before has ended', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(wait)
    const other = space.connect()
    await holdfast.schedule('in-order', { every: '1s', overlap: 'queue' }, wait)
    const started: string[] = []

    for (let n = 1; n <= 3; n++) {
      const info = await eventually(async () => {
        const now = await infoOf(other, 'in-order')
        // Its next due time has passed: it waits.
        return now.started === n && now.nextRuns[0]!.getTime() < Date.now() && now
      })
      expect(info.running).toEqual([info.lastRun!.instanceId])
      started.push(...info.running)
      await other.get(info.running[0]!).send(finish, 'done')
    }

    const times = started.map((id) => Date.parse(id.slice('in-order/'.length)))
    expect(times).toEqual([times[0], times[0]! + 1_000, times[0]! + 2_000])
    expect(await infoOf(other, 'in-order')).toMatchObject({
      skipped: { count: 0 },
      missed: { count: 0 },
    })
  })

  test('a paused schedule starts nothing until it is resumed, and then leaves out what passed', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(note)
    await holdfast.schedule('paused', { every: '1s', overlap: 'allow' }, note, 'hi')
    await eventually(async () => (await infoOf(holdfast, 'paused')).started > 0)

    await holdfast.schedules.pause('paused')
    await holdfast.schedules.pause('paused')
    const paused = await infoOf(holdfast, 'paused')
    // As many due times pass meanwhile.
    await holdfast.schedule('beside', { every: '1s', overlap: 'allow' }, note, 'hi')
    await eventually(async () => (await infoOf(holdfast, 'beside')).started > 2)
    const still = await infoOf(holdfast, 'paused')
    const resumedAt = Date.now()
    await holdfast.schedules.resume('paused')
    const resumed = await eventually(async () => {
      const info = await infoOf(holdfast, 'paused')
      return info.started > paused.started && info
    })

    expect(paused).toMatchObject({ paused: true, nextRuns: [] })
    expect(still).toMatchObject({ started: paused.started, lastRun: paused.lastRun })
    expect(resumed).toMatchObject({ paused: false, missed: { count: 0 } })
    expect(resumed.lastRun!.at.getTime()).toBeGreaterThan(resumedAt - 100)
  })

  test('a trigger starts an instance now, even one that is paused or has one running', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open([wait, note])
    const client = space.connect()
    await client.schedule('by-hand', YEARLY, wait)
    await client.schedules.pause('by-hand')

    const first = await client.schedules.trigger('by-hand')
    const second = await holdfast.schedules.trigger('by-hand')

    const info = await infoOf(client, 'by-hand')
    expect(info).toMatchObject({ paused: true, started: 2, running: [first.id, second.id] })
    expect(info.lastRun!.instanceId).toBe(second.id)
    await first.send(finish, 'one')
    await second.send(finish, 'two')
    expect(await Promise.all([first.result(), second.result()])).toEqual(['one', 'two'])
    expect((await first.info())?.labels).toEqual({ schedule: 'by-hand' })
  })

  test('a deleted schedule starts nothing more; its instances continue', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(wait)
    await holdfast.schedule('gone', YEARLY, wait)
    const instance = await holdfast.schedules.trigger('gone')

    expect(await holdfast.schedules.delete('gone')).toBe(true)
    expect(await holdfast.schedules.delete('gone')).toBe(false)

    expect(await holdfast.schedules.list()).toEqual([])
    await instance.send(finish, 'done')
    expect(await instance.result()).toBe('done')
  })

  test('the options of a start are those of each instance', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    await client.schedule('prepared', YEARLY, wait, undefined, {
      labels: { team: 'a' },
      delay: '1h',
    })

    const delayed = await client.schedules.trigger('prepared')

    expect(await delayed.info()).toMatchObject({
      status: 'scheduled',
      labels: { team: 'a', schedule: 'prepared' },
    })
  })

  test.each(['pause', 'resume', 'trigger'] as const)(
    '%s of a schedule that does not exist fails',
    async (verb) => {
      await using space = await openSpace(kind)
      const client = space.connect()

      const tried = client.schedules[verb]('unknown')

      await expect(tried).rejects.toThrow(NotFoundError)
      await expect(tried).rejects.toThrow(`${verb}: there is no schedule "unknown"`)
    },
  )
})

describeOnStoresAtOnce(
  'what a schedule refuses',
  (kind) => {
    test.each<[object, string]>([
      [{}, 'schedule "x": give either cron or every'],
      [{ cron: '* * * * *', every: '1h' }, 'schedule "x": give either cron or every'],
      [
        { cron: '61 * * * *' },
        `schedule "x": cron "61 * * * *" is invalid: the minute "61" is not valid; it may have 0 to 59, and *, lists (1,15), ranges (1-5) and steps (*/10, 5-59/10); give a pattern such as '0 9 * * MON-FRI'`,
      ],
      [{ cron: '0 0 30 2 *' }, 'cron "0 0 30 2 *" is never due; change its day or its month'],
      [
        { cron: '0 9 * * *', timezone: 'Berlin' },
        `schedule "x": timezone "Berlin" is invalid: unknown time zone "Berlin"; give the name of an IANA time zone, such as 'Europe/Berlin' or 'UTC'`,
      ],
      [{ every: '1h', timezone: 'UTC' }, 'timezone has no meaning for every'],
      [{ every: 999 }, 'schedule "x": every must be at least 1000 ms, got 999'],
      [{ every: '1h', overlap: 'drop' }, `overlap must be one of 'skip', 'queue', 'allow'`],
      [{ every: '1h', catchup: '1h' }, 'unknown option "catchup", did you mean "catchUp"?'],
    ])('%j', async (when, message) => {
      await using space = await openSpace(kind)
      const client = space.connect()

      await expect(client.schedule('x', when, note, 'hi')).rejects.toThrow(message)
      expect(await client.schedules.list()).toEqual([])
    })

    test.each<[object, string]>([
      [{ id: 'mine' }, 'schedule "x": id cannot be given'],
      [{ onConflict: 'error' }, 'schedule "x": onConflict cannot be given'],
      [{ labels: { schedule: 'y' } }, 'schedule "x": labels.schedule cannot be given'],
      [{ lables: {} }, 'unknown option "lables", did you mean "labels"?'],
    ])('the option %j of its starts', async (options, message) => {
      await using space = await openSpace(kind)

      const tried = space.connect().schedule('x', YEARLY, note, 'hi', options)

      await expect(tried).rejects.toThrow(message)
    })

    test('a name that is no name', async () => {
      await using space = await openSpace(kind)

      await expect(space.connect().schedule('', YEARLY, note, 'hi')).rejects.toThrow(
        'schedule: name must be a string of 1 to 200 characters',
      )
    })
  },
  ['memory'],
)

const typed = (client: Client): void => {
  // @ts-expect-error: the input is missing
  void client.schedule('x', YEARLY, note)
  // @ts-expect-error: the input is not a string
  void client.schedule('x', YEARLY, note, 5)
  // @ts-expect-error: each start has an id of its own
  void client.schedule('x', YEARLY, note, 'hi', { id: 'y' })
  // @ts-expect-error: no such rule
  void client.schedule('x', { cron: '* * * * *', overlap: 'drop' }, note, 'hi')
  void client.schedule('x', YEARLY, wait)
}

test('input and options are typed', () => {
  expectTypeOf<Client['schedules']>().toEqualTypeOf<Schedules>()
  expect(typed).toBeTypeOf('function')
})
