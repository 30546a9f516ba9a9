// The names in code, the reference page, the alerts and the dashboard are the same.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { nameOf } from '../../src/telemetry/prometheus-text.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/reference/metrics.md'), 'utf8')
const DASHBOARD = readFileSync(join(ROOT, 'docs/reference/grafana.json'), 'utf8')

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly w: number; readonly x: number }
  readonly targets?: readonly { readonly expr: string }[]
}

/** The names that code reports, with the method that reports them. */
function reportedNames(): Map<string, 'count' | 'record' | 'gauge'> {
  const names = new Map<string, 'count' | 'record' | 'gauge'>()
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8')
    for (const [, verb, name] of text.matchAll(
      /#?(count|record|gauge|add)(?:\?\.)?\(\s*'(holdfast_\w+)'/g,
    )) {
      names.set(name!, verb === 'add' ? 'gauge' : (verb as 'count' | 'record' | 'gauge'))
    }
    for (const [, name] of text.matchAll(/\['(?:ack|nack)', '(holdfast_\w+)'\]/g)) {
      names.set(name!, 'count')
    }
  }
  return names
}

/** The names that Prometheus knows, without the suffixes of histograms. */
function prometheusNames(): Set<string> {
  const names = [...REPORTED].map(([name, verb]) => nameOf(name, verb === 'count'))
  return new Set([...names, 'holdfast_metrics_dropped_total'])
}

const REPORTED = reportedNames()
const KNOWN = prometheusNames()

function namesIn(text: string): string[] {
  const found = [...text.matchAll(/holdfast_[a-z_]+/g)].map(([name]) => name)
  return found.map((name) => name.replace(/_(bucket|sum|count)$/, ''))
}

describe('names of metrics', () => {
  test('are on the reference page, each that the engine and the outbox report', () => {
    const ours = [...REPORTED.keys()].filter((name) => !/_(db|queue|worker)_/.test(name))

    expect(ours.length).toBeGreaterThan(30)
    expect(ours.filter((name) => !PAGE.includes(`\`${name}\``))).toEqual([])
  })

  test('of alerts exist', () => {
    const alerts = PAGE.slice(PAGE.indexOf('## Alerts'))

    expect(namesIn(alerts).length).toBeGreaterThan(15)
    expect(namesIn(alerts).filter((name) => !KNOWN.has(name))).toEqual([])
  })

  test('of the dashboard exist', () => {
    expect(namesIn(DASHBOARD).length).toBeGreaterThan(30)
    expect(namesIn(DASHBOARD).filter((name) => !KNOWN.has(name))).toEqual([])
  })
})

/** What alerts and panels ask Prometheus. */
function alertExpressions(): string[] {
  return PAGE.slice(PAGE.indexOf('## Alerts'))
    .split('\n')
    .filter((line) => /^\|.*`[^`]*holdfast_[^`]*`/.test(line))
    .map((line) => /`([^`]*holdfast_[^`]*)`/.exec(line)![1]!.replaceAll('\\|', '|'))
}

function panelExpressions(): string[] {
  const { panels } = JSON.parse(DASHBOARD) as { panels: readonly Panel[] }
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

describe('a counter, which has no series before its first event', () => {
  test('is seen by alerts and panels when that event comes', () => {
    // Where it counts that anything happened at all, or how often.
    const alerts = alertExpressions().filter((expr) =>
      /^[^/]*\b(rate|increase)\((?!holdfast_queue_delivered)[^/]* > 0$/.test(expr),
    )
    const panels = panelExpressions().filter((expr) => expr.includes('increase('))
    const blind = [...alerts, ...panels].flatMap((expr) =>
      [...expr.matchAll(/\b(?:rate|increase)\(([^[]+)\[([^\]]+)\]\)/g)]
        .filter(([call, x, time]) => !expr.includes(`(${x} unless ${x} offset ${time}) or ${call}`))
        .map(([call]) => call),
    )

    expect(alerts.length).toBeGreaterThan(7)
    expect(panels.length).toBeGreaterThan(2)
    expect(blind).toEqual([])
  })

  test('takes nothing from a sum of several', () => {
    const sums = panelExpressions().filter((expr) => expr.includes(') + ('))

    expect(sums.length).toBeGreaterThan(0)
    for (const expr of sums) {
      expect(expr.split(') + (').filter((part) => !/or vector\(0\)\)?$/.test(part))).toEqual([])
    }
  })
})

test('the dashboard has panels with ids of their own that fit the grid', () => {
  const { panels } = JSON.parse(DASHBOARD) as { panels: readonly Panel[] }

  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  for (const { gridPos, targets = [] } of panels) {
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
    for (const { expr } of targets) expect(expr.split('(')).toHaveLength(expr.split(')').length)
  }
})

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const skipped = hasPromtool ? '' : ' (skipped: promtool of the package prometheus is not installed)'

test.skipIf(!hasPromtool)(`promtool can read every alert and every panel${skipped}`, () => {
  const rules = [...alertExpressions(), ...panelExpressions()].map((expr, i) => ({
    alert: `Alert${i}`,
    // Grafana fills it in.
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }))
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-rules-'))
  const file = join(folder, 'rules.json')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'holdfast', rules }] }))

  const { status, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })

  rmSync(folder, { recursive: true })
  expect(rules.length).toBeGreaterThan(50)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})
