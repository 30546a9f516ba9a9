import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { timetable } from './timetable.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const cronAt = (cron: string, timezone = 'UTC') => timetable({ cron, timezone }, 0)

/** The first due times after a moment, as ISO text without milliseconds. */
function dueTimes(cron: string, timezone: string, after: string, count: number): string[] {
  const table = cronAt(cron, timezone)
  const found: string[] = []
  for (let at = Date.parse(after); found.length < count;) {
    at = table.next(at)!
    found.push(new Date(at).toISOString().replace('.000Z', 'Z'))
  }
  return found
}

const field = (max: number) =>
  fc.oneof(
    fc.constantFrom('*', '*/5', '*/2'),
    fc.uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength: 4 }).map(String),
  )

const iso = (at: number): string => new Date(at).toISOString()

function isIn(text: string, value: number): boolean {
  if (text === '*') return true
  if (text.startsWith('*/')) return value % Number(text.slice(2)) === 0
  return text.split(',').map(Number).includes(value)
}

const berlin = (after: string) => dueTimes('0 9 * * *', 'Europe/Berlin', after, 1)

describe('an interval', () => {
  test('is counted from the moment it was set, however late it is asked', () => {
    const table = timetable({ everyMs: 10 * MINUTE }, 1_000)

    expect(table.next(1_000)).toBe(1_000 + 10 * MINUTE)
    expect(table.next(1_000 + 10 * MINUTE)).toBe(1_000 + 20 * MINUTE)
    expect(table.next(1_000 + 95 * MINUTE)).toBe(1_000 + 100 * MINUTE)
  })

  test('goes on before that moment, if the clock was turned back since', () => {
    expect(timetable({ everyMs: HOUR }, 5 * HOUR + 7).next(0)).toBe(7)
  })
})

describe('a cron pattern', () => {
  test.each([
    ['every minute', '* * * * *', '2026-01-01T00:00:30Z', ['2026-01-01T00:01:00Z']],
    ['seconds', '*/20 * * * * *', '2026-01-01T00:00:30Z', ['2026-01-01T00:00:40Z']],
    [
      'the last day of a month',
      '0 0 L * *',
      '2027-01-31T00:00:00Z',
      ['2027-02-28T00:00:00Z', '2027-03-31T00:00:00Z'],
    ],
    [
      'a day that short months lack',
      '0 0 31 * *',
      '2026-03-31T00:00:00Z',
      ['2026-05-31T00:00:00Z', '2026-07-31T00:00:00Z'],
    ],
    [
      'leap days',
      '0 12 29 2 *',
      '2026-01-01T00:00:00Z',
      ['2028-02-29T12:00:00Z', '2032-02-29T12:00:00Z'],
    ],
    [
      'a day of the month or a weekday, when both are given',
      '0 0 13 * FRI',
      '2026-11-07T00:00:00Z',
      ['2026-11-13T00:00:00Z', '2026-11-20T00:00:00Z'],
    ],
    ['the last weekday', '0 0 LW * *', '2026-11-01T00:00:00Z', ['2026-11-30T00:00:00Z']],
    ['the nearest weekday', '0 0 15W * *', '2026-11-01T00:00:00Z', ['2026-11-16T00:00:00Z']],
    ['the last Friday', '0 0 * * 5L', '2026-11-01T00:00:00Z', ['2026-11-27T00:00:00Z']],
    ['the first Monday', '0 0 * * MON#1', '2026-11-01T00:00:00Z', ['2026-11-02T00:00:00Z']],
    ['both days at once', '0 0 13 * +FRI', '2026-11-14T00:00:00Z', ['2027-08-13T00:00:00Z']],
    ['a nickname', '@daily', '2026-01-01T05:00:00Z', ['2026-01-02T00:00:00Z']],
  ])('%s', (_, cron, after, expected) => {
    expect(dueTimes(cron, 'UTC', after, expected.length)).toEqual(expected)
  })

  test('is due at the hour of its time zone, in summer and in winter', () => {
    expect(berlin('2026-07-01T00:00:00Z')).toEqual(['2026-07-01T07:00:00Z'])
    expect(berlin('2026-12-01T00:00:00Z')).toEqual(['2026-12-01T08:00:00Z'])
  })

  test('may have spaces around it', () => {
    expect(dueTimes(' @daily ', 'UTC', '2026-01-01T05:00:00Z', 1)).toEqual(['2026-01-02T00:00:00Z'])
  })

  test('that never matches has no due time', () => {
    expect(cronAt('0 0 30 2 *', 'Europe/Berlin').next(0)).toBeUndefined()
  })

  test.each([
    ['61 * * * *', 'the minute "61" is not valid; it may have 0 to 59, and *, lists'],
    ['61 * * * * *', 'the second "61" is not valid'],
    ['0 24 * * *', 'the hour "24" is not valid'],
    ['0 0 0 * *', 'the day of the month "0" is not valid; it may have 1 to 31, L, LW, 15W, and'],
    ['0 0 L-3 * *', 'the day of the month "L-3" is not valid'],
    ['0 0 1 13 *', 'the month "13" is not valid; it may have 1 to 12, JAN to DEC, and'],
    ['5/10 * * * *', 'steps (*/10, 5-59/10)'],
    [
      '0 0 * * 1#6',
      'the weekday "1#6" is not valid; it may have 0 to 7, SUN to SAT, MON#1, 5L, and',
    ],
    ['* * *', 'it has 3'],
    ['0 0 0 1 1 * 2027', 'it has 7'],
    ['2027-01-01T00:00:00', 'it has 1'],
    ['@reboot', 'there is no nickname @reboot'],
    ['@fortnightly', 'there is no nickname @fortnightly'],
    ['@daily 9', 'it has 2'],
    [' @every 10m', "give every, such as every: '10m', instead of cron"],
  ])('%s is invalid', (cron, message) => {
    expect(() => cronAt(cron)).toThrow(RangeError)
    expect(() => cronAt(cron)).toThrow(message)
  })

  test('a time zone that does not exist is invalid', () => {
    expect(() => cronAt('* * * * *', 'Mars/Olympus')).toThrow('unknown time zone "Mars/Olympus"')
  })
})

describe('when wall clocks are set forward', () => {
  // New York skips from 2:00 to 3:00 on 8 March 2026, at 7:00 UTC.
  const after = '2026-03-08T06:50:00Z'

  test('a time that is skipped is due at the moment they are set', () => {
    expect(dueTimes('30 2 * * *', 'America/New_York', after, 2)).toEqual([
      '2026-03-08T07:00:00Z',
      '2026-03-09T06:30:00Z',
    ])
  })

  test('several times that are skipped are due once', () => {
    expect(dueTimes('15,45 2 * * *', 'America/New_York', after, 2)).toEqual([
      '2026-03-08T07:00:00Z',
      '2026-03-09T06:15:00Z',
    ])
  })

  test('a schedule for every quarter of an hour has no gap', () => {
    expect(dueTimes('*/15 * * * *', 'America/New_York', after, 3)).toEqual([
      '2026-03-08T07:00:00Z',
      '2026-03-08T07:15:00Z',
      '2026-03-08T07:30:00Z',
    ])
  })
})

describe('when wall clocks are set back', () => {
  // Berlin shows the time from 2:00 to 3:00 twice on 25 October 2026, until 1:00 and 2:00 UTC.
  const after = '2026-10-25T00:00:00Z'

  test('a time that is shown twice is due the first time', () => {
    expect(dueTimes('30 2 * * *', 'Europe/Berlin', after, 2)).toEqual([
      '2026-10-25T00:30:00Z',
      '2026-10-26T01:30:00Z',
    ])
  })

  test('it is not due the second time, even if the question comes between the two', () => {
    expect(dueTimes('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual([
      '2026-10-26T01:30:00Z',
    ])
  })

  test('a schedule for every hour is due both times', () => {
    expect(dueTimes('30 * * * *', 'Europe/Berlin', after, 4)).toEqual([
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T02:30:00Z',
      '2026-10-25T03:30:00Z',
    ])
  })
})

describe('against a walk from minute to minute', () => {
  const MOMENTS: readonly (readonly [zone: string, day: string])[] = [
    ['America/New_York', '2026-03-08'],
    ['America/New_York', '2026-11-01'],
    ['Europe/London', '2026-03-29'],
    ['Europe/Berlin', '2026-10-25'],
    ['Australia/Lord_Howe', '2026-04-05'],
    ['Australia/Lord_Howe', '2026-10-04'],
    ['America/St_Johns', '2026-11-01'],
    ['Africa/Casablanca', '2026-02-15'],
    ['Africa/Casablanca', '2026-03-22'],
    ['Antarctica/Troll', '2026-03-29'],
    ['Antarctica/Troll', '2026-10-25'],
    ['America/Havana', '2026-03-08'],
    ['Asia/Kolkata', '2026-06-01'],
  ]

  test('each due time is the same, in every zone that changes', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...MOMENTS),
        field(59),
        field(23),
        fc.integer({ min: 0, max: 36 * 60 }),
        ([zone, day], minutes, hours, start) => {
          const from = Date.parse(`${day}T00:00:00Z`) - 18 * HOUR + start * MINUTE
          const table = cronAt(`${minutes} ${hours} * * *`, zone)

          const found: number[] = []
          for (let at = from; (at = table.next(at)!) <= from + DAY;) found.push(at)

          expect(found.map(iso)).toEqual(walk(zone, minutes, hours, from, from + DAY).map(iso))
        },
      ),
      { numRuns: 60 },
    )
  }, 60_000)
})

/** The rules, applied to one minute after the other. */
function walk(zone: string, minutes: string, hours: string, from: number, to: number): number[] {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  const wallAt = (at: number): number => Date.parse(`${format.format(at).replace(' ', 'T')}Z`)
  const matches = (wall: number): boolean =>
    isIn(minutes, new Date(wall).getUTCMinutes()) && isIn(hours, new Date(wall).getUTCHours())
  const due: number[] = []
  let latest = -Infinity
  for (let at = from - 6 * HOUR; at <= to; at += MINUTE) {
    const wall = wallAt(at)
    const isSecond = wall <= latest
    let isDue = matches(wall) && (!isSecond || hours.startsWith('*'))
    if (latest > -Infinity) {
      for (let skipped = latest + MINUTE; skipped < wall; skipped += MINUTE) {
        if (matches(skipped)) isDue = true
      }
    }
    latest = Math.max(latest, wall)
    if (isDue && at > from) due.push(at)
  }
  return due
}
