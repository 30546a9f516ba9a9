// Offsets of time zones, from the tables of the JavaScript engine: there is no other source of them, so
// that a schedule follows the same rules as `Date` and `Intl` in user code.

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** A time zone, as far as wall clocks in it are concerned. */
export interface TimeZone {
  readonly name: string
  /** What wall clocks are ahead of UTC at an instant, in milliseconds. */
  offsetAt(instant: number): number
  /**
   * The first instant after `from`, and before `until`, at which wall clocks are set; `undefined` if
   * there is none.
   */
  nextChange(from: number, until: number): number | undefined
}

const zones = new Map<string, TimeZone>()

/** The time zone of an IANA name such as `Europe/Berlin`. Throws a `RangeError` for any other name. */
export function timeZone(name: string): TimeZone {
  let zone = zones.get(name)
  if (zone === undefined) {
    zone = makeZone(name)
    // To construct a formatter takes longer than to use it a hundred times. There are 600 names.
    zones.set(name, zone)
  }
  return zone
}

function makeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (format.resolvedOptions().timeZone === 'UTC') {
    return { name, offsetAt: () => 0, nextChange: () => undefined }
  }
  const offsetAt = (instant: number): number => {
    const parts: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value)
    const { year, month, day, hour, minute, second } = parts
    const wall = Date.UTC(year!, month! - 1, day, hour, minute, second)
    return wall - Math.floor(instant / 1_000) * 1_000
  }
  return {
    name,
    offsetAt,
    nextChange(from, until) {
      let before = from
      const offset = offsetAt(from)
      // No zone changes twice within a day.
      while (before < until) {
        const after = Math.min(before + DAY_MS, until)
        if (offsetAt(after) !== offset) return firstWithout(offset, before, after, offsetAt)
        before = after
      }
      return undefined
    },
  }
}

/** The first minute in (before, after] at which the offset is another one. */
function firstWithout(
  offset: number,
  before: number,
  after: number,
  offsetAt: TimeZone['offsetAt'],
): number {
  // Wall clocks are set at whole minutes of UTC.
  let [low, high] = [Math.floor(before / MINUTE_MS), Math.ceil(after / MINUTE_MS)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle * MINUTE_MS) === offset) low = middle
    else high = middle
  }
  return high * MINUTE_MS
}
