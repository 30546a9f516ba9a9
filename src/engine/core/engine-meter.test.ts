import { expect, test } from 'vitest'
import { MemoryMetrics } from '../../../test/support/metrics.ts'
import { silentLog } from '../../base/log.ts'
import { EngineMeter, type RuntimeLoad } from './engine-meter.ts'

const LOAD: RuntimeLoad = {
  instances: 1,
  turnsWaiting: 2,
  commitsWaiting: 3,
  activitiesRunning: 4,
  activitiesWaiting: 5,
  isListening: true,
  interruptions: 0,
}

function openMeter() {
  const metrics = new MemoryMetrics()
  return { metrics, meter: new EngineMeter(metrics, silentLog) }
}

test('the load of a runtime is a gauge each', () => {
  const { metrics, meter } = openMeter()

  meter.load(LOAD)

  expect(metrics.gauges.map(({ name, value }) => [name, value])).toEqual([
    ['holdfast_notifier_up', 1],
    ['holdfast_runtime_instances', 1],
    ['holdfast_runtime_turns_waiting', 2],
    ['holdfast_runtime_commits_waiting', 3],
    ['holdfast_runtime_activities_running', 4],
    ['holdfast_runtime_activities_waiting', 5],
  ])
})

test('interruptions of notifications are counted once each, and a store without them has none', () => {
  const { metrics, meter } = openMeter()

  for (const interruptions of [0, 2, 2, 3]) meter.load({ ...LOAD, interruptions })
  meter.load({ ...LOAD, isListening: false, interruptions: 3 })
  meter.load({ ...LOAD, isListening: undefined, interruptions: 3 })

  expect(metrics.sum('holdfast_notifier_reconnects')).toBe(3)
  const up = metrics.gauges.filter(({ name }) => name === 'holdfast_notifier_up')
  expect(up.map(({ value }) => value)).toEqual([1, 1, 1, 1, 0])
})

test('losses, refused items and messages for no one are counted by their reason', () => {
  const { metrics, meter } = openMeter()

  meter.lost('declared dead')
  meter.notTaken('refused')
  meter.notTaken(new Error('too large'))
  meter.undelivered(2, 3)
  meter.undelivered(0, 0)

  expect(metrics.counts).toEqual([
    { name: 'holdfast_runtime_losses', by: 1, labels: { why: 'declared dead' } },
    { name: 'holdfast_commit_items_rejected', by: 1, labels: { verdict: 'refused' } },
    { name: 'holdfast_commit_items_rejected', by: 1, labels: { verdict: 'error' } },
    { name: 'holdfast_messages_undelivered', by: 2, labels: { why: 'ended' } },
    { name: 'holdfast_messages_undelivered', by: 3, labels: { why: 'unstarted' } },
  ])
})
