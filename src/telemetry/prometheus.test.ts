import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { assert, pre, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { prometheus } from './prometheus.ts'

interface Family {
  readonly name: string
  readonly type: string
  readonly metrics: readonly {
    readonly value?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly buckets?: Readonly<Record<string, string>>
    readonly sum?: string
    readonly count?: string
  }[]
}

// It has no types of its own.
const parse = createRequire(import.meta.url)('parse-prometheus-text-format') as (
  text: string,
) => readonly Family[]

function family(text: string, name: string): Family | undefined {
  return parse(text).find((one) => one.name === name)
}

describe('prometheus()', () => {
  test('renders counters as totals', () => {
    const metrics = prometheus()

    metrics.count('holdfast_instances_started', 2, { workflow: 'order' })
    metrics.count('holdfast_instances_started', 1, { workflow: 'order' })
    metrics.count('holdfast_instances_started', 1, { workflow: 'refund' })

    expect(family(metrics.text(), 'holdfast_instances_started_total')).toMatchObject({
      type: 'COUNTER',
      metrics: [
        { value: '3', labels: { workflow: 'order' } },
        { value: '1', labels: { workflow: 'refund' } },
      ],
    })
  })

  test('renders milliseconds as a histogram in seconds', () => {
    const metrics = prometheus()

    for (const ms of [0.5, 3, 40, 7_200_000]) metrics.record('holdfast_commit_ms', ms, {})

    const [series] = family(metrics.text(), 'holdfast_commit_seconds')!.metrics
    expect(series).toMatchObject({ count: '4', sum: '7200.0435' })
    expect(series!.buckets).toMatchObject({
      '0.001': '1',
      '0.0025': '1',
      '0.005': '2',
      '0.05': '3',
      '3600': '3',
      '+Inf': '4',
    })
  })

  test('renders other values with limits for sizes', () => {
    const metrics = prometheus()

    metrics.record('holdfast_commit_items', 7, {})

    const [series] = family(metrics.text(), 'holdfast_commit_items')!.metrics
    expect(series!.buckets).toMatchObject({ '5': '0', '10': '1', '500': '1', '+Inf': '1' })
  })

  test('renders the latest value of a gauge', () => {
    const metrics = prometheus()

    metrics.gauge('holdfast_task_age_ms', 9_000, { activity: 'mail' })
    metrics.gauge('holdfast_task_age_ms', 1_500, { activity: 'mail' })

    expect(family(metrics.text(), 'holdfast_task_age_seconds')).toMatchObject({
      type: 'GAUGE',
      metrics: [{ value: '1.5', labels: { activity: 'mail' } }],
    })
  })

  test('drops what would exceed maxSeries, and counts that', () => {
    const metrics = prometheus({ maxSeries: 2 })

    for (const workflow of ['a', 'b', 'c', 'a']) metrics.count('started', 1, { workflow })

    const text = metrics.text()
    expect(family(text, 'started_total')!.metrics).toMatchObject([
      { value: '2', labels: { workflow: 'a' } },
      { value: '1', labels: { workflow: 'b' } },
    ])
    expect(family(text, 'holdfast_metrics_dropped_total')!.metrics).toMatchObject([{ value: '1' }])
  })

  test('ignores what no counter and no histogram can hold', () => {
    const metrics = prometheus()

    for (const by of [-1, 0, NaN, Infinity]) metrics.count('counted', by, {})
    for (const value of [NaN, Infinity]) metrics.record('measured', value, {})

    expect(metrics.text()).not.toMatch(/NaN|Inf(?!"|inity)|-1/)
  })

  test('a name keeps the kind that it was first used with', () => {
    const metrics = prometheus()

    metrics.count('both', 1, {})
    metrics.gauge('both', 5, {})

    expect(parse(metrics.text()).filter(({ name }) => name.startsWith('both'))).toHaveLength(1)
  })

  test('refuses an unknown option with a guess', () => {
    expect(() => prometheus({ maxserie: 1 } as never)).toThrow('did you mean "maxSeries"?')
  })

  test('any label value comes back from a parser as it was', () => {
    assert(
      property(string({ unit: 'grapheme', maxLength: 20 }), (value) => {
        // The parser reads lines, and takes other line ends than \n for ends of lines, too.
        pre(!/[\r\u2028\u2029\u0085\v\f{}]/.test(value))
        const metrics = prometheus()

        metrics.count('started', 1, { workflow: value })

        const [series] = family(metrics.text(), 'started_total')!.metrics
        expect(series!.labels).toEqual({ workflow: value })
      }),
    )
  })
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const skipped = hasPromtool ? '' : ' (skipped: promtool of the package prometheus is not installed)'

test.skipIf(!hasPromtool)(`promtool finds nothing wrong with the text${skipped}`, () => {
  const metrics = prometheus()
  metrics.count('holdfast_instances_started', 1, { workflow: 'a "quoted" \\ name\n' })
  metrics.record('holdfast_commit_ms', 3, {})
  metrics.record('holdfast_commit_items', 3, {})
  metrics.gauge('holdfast_instances', 3, { workflow: 'order', status: 'running' })

  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: metrics.text(),
    encoding: 'utf8',
  })

  // It exits with 3 for advice only, such as a missing help text.
  expect({ status, stdout, stderr }).toMatchObject({ stdout: '' })
  expect([0, 3]).toContain(status)
})
