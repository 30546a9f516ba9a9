import { expect, test } from 'vitest'

import { judge, type Sample } from './judge.ts'

function sample(atS: number, given: Partial<Sample> = {}): Sample {
  return { atS, perSecond: 1_000, p50Ms: 2, p99Ms: 10, dead: 0, bytes: 1e6, held: false, ...given }
}

/** Every half-minute of ten minutes. */
function run(given: (atS: number) => Partial<Sample> = () => ({})): Sample[] {
  return Array.from({ length: 20 }, (_, i) => sample((i + 1) * 30, given((i + 1) * 30)))
}

/** Whether that is in the middle of the run. */
function held(atS: number): boolean {
  return atS > 200 && atS <= 400
}

function missed(samples: readonly Sample[]): string[] {
  return judge(samples, 60)
    .filter(({ met }) => !met)
    .map(({ what }) => what.replace(', beside the beginning', ''))
}

test('a run that stays as it began passes', () => {
  expect(judge(run(), 60).map(({ met }) => met)).toEqual([true, true, true, true])
})

test.each<[string, Partial<Sample>, string]>([
  ['becomes slow', { perSecond: 700 }, 'workflows/s at the end'],
  ['takes longer', { p50Ms: 5 }, 'p50 at the end'],
  ['takes longer now and then', { p99Ms: 30 }, 'p99 at the end'],
  ['grows', { bytes: 2e6 }, 'size at the end'],
])('a run that %s does not', (_, late, what) => {
  expect(missed(run((atS) => (atS > 500 ? late : {})))).toEqual([what])
})

test('tables may grow until autovacuum has been there', () => {
  expect(missed(run((atS) => ({ bytes: Math.min(atS, 240) * 1e6 })))).toEqual([])
})

test('while vacuum is held back, a run may be slower, but not for good', () => {
  const slow = { perSecond: 600, p99Ms: 30 }

  const gentle = run((atS) => (held(atS) ? { ...slow, held: true } : {}))
  const harsh = run((atS) => (held(atS) ? { perSecond: 300, held: true } : {}))
  const lasting = run((atS) => (atS > 200 ? { ...slow, held: held(atS) } : {}))

  expect(missed(gentle)).toEqual([])
  expect(missed(harsh)).toEqual(['workflows/s while held back'])
  expect(missed(lasting)).toEqual(['workflows/s at the end', 'p99 at the end'])
})

test('too short a run is not judged', () => {
  expect(judge([sample(30), sample(60), sample(90)], 60)).toEqual([])
})
