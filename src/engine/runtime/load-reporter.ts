import { idle } from '../../workers/directive.ts'
import { worker, type Worker } from '../../workers/worker.ts'
import type { RuntimeServices } from './services.ts'

const EVERY_MS = 10_000

/** The loop that reports how full a runtime is; none if nothing is measured. */
export function loadReporter(services: RuntimeServices): readonly Worker[] {
  const { core, scheduler, committer, activities, finder } = services
  const { clock, log, meter, store } = core
  if (meter === undefined) return []
  const report = (): void => {
    const { state, interruptions } = finder.hints.health()
    meter.load({
      instances: scheduler.instances.owned,
      turnsWaiting: scheduler.turns.size,
      commitsWaiting: committer.size,
      activitiesRunning: activities.slots.running,
      activitiesWaiting: activities.slots.waiting,
      isListening: store.hints === undefined ? undefined : state === 'listening',
      interruptions,
    })
  }
  report()
  return [
    worker('load', { every: EVERY_MS, clock, log }, async () => {
      report()
      return idle()
    }),
  ]
}
