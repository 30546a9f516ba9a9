import type { Settlement, Step } from '../../store/outbox-store.ts'

/** Steps as the JSON that `outbox_steps` takes. */
export function stepsValue(steps: readonly Step[]): string {
  return JSON.stringify(
    steps.map(({ partition, epoch, settle, read, release }) => ({
      partition,
      epoch,
      settle: settle && settlementValue(settle),
      read,
      release,
    })),
  )
}

function settlementValue(settle: Settlement): object {
  const { cursor, to, passed, done, failures, later, dueAt, dead, deferred, waiting } = settle
  return {
    cursor,
    to,
    passed,
    done,
    failed: [...failures.keys()],
    failures: [...failures.values()],
    later: [...later.keys()],
    laterAt: [...later.values()],
    dueAt,
    dead: dead.map(({ reason, ...rest }) => ({ ...rest, reason: storable(reason) })),
    deferred: deferred.map(({ dueAt: due_at, ...rest }) => ({ ...rest, due_at })),
    waiting,
  }
}

/** PostgreSQL stores neither U+0000 nor lone surrogates; an error message may contain both. */
export function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\uFFFD')
}
