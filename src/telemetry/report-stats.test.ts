import { expect, test } from 'vitest'
import { prometheus } from './prometheus.ts'
import { reportStats } from './report-stats.ts'

const unreachable = (): never => expect.unreachable()

const NOTHING = { instances: [], tasks: [], oldestDueMs: 0, messages: { waiting: 0, parked: 0 } }

test('reportStats adds up versions of a workflow and partitions of a topic', () => {
  const metrics = prometheus()
  const instances = [
    { workflow: 'order', version: '1', status: 'running', count: 2 },
    { workflow: 'order', version: '2', status: 'running', count: 3 },
    { workflow: 'order', version: '2', status: 'suspended', count: 1 },
  ]
  const tasks = [
    { activity: 'mail', tag: '', waiting: 4, delayed: 1, running: 2, oldestMs: 9_000 },
    { activity: 'mail', tag: 'eu', waiting: 1, delayed: 0, running: 0, oldestMs: 4_000 },
  ]
  const outbox = [
    { topic: 'mails', partition: 0, depth: 3, oldestMs: 1_000, lag: 2 },
    { topic: 'mails', partition: 1, depth: 1, oldestMs: 7_000, lag: 1 },
  ]

  reportStats(metrics, {
    engine: { instances, tasks, oldestDueMs: 2_500, messages: { waiting: 7, parked: 8 } },
    outbox,
  })

  const lines = metrics.text().split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      'holdfast_instances{workflow="order",status="running"} 5',
      'holdfast_instances{workflow="order",status="suspended"} 1',
      'holdfast_tasks{activity="mail",state="waiting"} 5',
      'holdfast_task_age_seconds{activity="mail"} 9',
      'holdfast_instances_due_age_seconds 2.5',
      'holdfast_messages{state="parked"} 8',
      'holdfast_outbox_depth{topic="mails"} 4',
      'holdfast_outbox_ready{topic="mails"} 3',
      'holdfast_outbox_age_seconds{topic="mails"} 7',
    ]),
  )
})

test('what is gone since the last report is 0, and not what it was', () => {
  const metrics = prometheus()
  const suspended = [{ workflow: 'order', status: 'suspended', count: 1 }]
  reportStats(metrics, {
    engine: { ...NOTHING, instances: suspended },
    outbox: [{ topic: 'mails', depth: 1, oldestMs: 1, lag: 1 }],
  })

  reportStats(metrics, { engine: NOTHING })

  expect(metrics.text()).toContain('holdfast_instances{workflow="order",status="suspended"} 0\n')
  // The outbox was not part of the second report.
  expect(metrics.text()).toContain('holdfast_outbox_depth{topic="mails"} 1\n')
})

test('a sink without gauges is left alone', () => {
  const sink = { count: unreachable, record: unreachable }

  expect(() => reportStats(sink, { engine: NOTHING })).not.toThrow()
})
