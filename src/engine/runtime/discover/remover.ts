import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'

// Nothing waits for a removal, and an idle runtime should ask the store little.
const EVERY_MS = 60_000
const BACKOFF = { initial: 1_000, max: EVERY_MS }

/**
 * The loop that removes instances whose retention is over. There is none if no workflow has a
 * retention: an idle runtime sends nothing then.
 */
export function remover(
  { store, clock, log }: { store: WorkflowStore; clock: Clock; log: Logger },
  retentionsMs: readonly number[],
): readonly Worker[] {
  if (retentionsMs.length === 0) return []
  const every = Math.min(EVERY_MS, Math.max(1_000, Math.min(...retentionsMs) / 4))
  const options = { every, clock, log, backoff: BACKOFF }
  return [
    worker('removals', options, async () => ((await store.removeExpired()) ? proceed() : idle())),
  ]
}
