import type { Limit } from '../../base/sync/limit.ts'
import { PermitNotify } from '../../base/sync/notify.ts'
import { onAbort } from '../../base/sync/on-abort.ts'
import { resolveOptions } from '../../base/options.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { type ClientCore, hasEnded } from './client-core.ts'
import { infoOf } from './info.ts'
import type { InstanceInfo } from '../define/instance.ts'
import { pollUntil, WAIT_OPTIONS } from './poll.ts'
import { quietWhenClosed } from './waits.ts'

/** Yields a snapshot of an instance now and at each change, until it ends or the caller stops. */
export function watch(
  core: ClientCore,
  id: string,
  given: { signal?: AbortSignal } | undefined,
): AsyncIterable<InstanceInfo> {
  const { signal } = resolveOptions('watch', given, { signal: WAIT_OPTIONS.signal })
  return {
    [Symbol.asyncIterator]() {
      // A generator alone cannot be stopped while it awaits a change.
      const stop = new AbortController()
      const changes = changesOf(core, id, signal, stop)
      return {
        next: () => quietWhenClosed(() => changes.next()),
        async return() {
          stop.abort(STOPPED)
          await changes.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** The reason for the end of a watch whose loop was left. */
const STOPPED = new Error('watch: stopped')

async function* changesOf(
  core: ClientCore,
  id: string,
  signal: AbortSignal | undefined,
  stop: AbortController,
): AsyncGenerator<InstanceInfo, undefined> {
  const { clock, runtime } = core.setup
  const wait = { timeout: undefined, signal: stop.signal }
  const within = <T>(run: (limit: Limit) => Promise<T>): Promise<T> =>
    core.waits.within(`watch: instance "${id}"`, wait, run, id)
  const wakeUp = new PermitNotify()
  const wake = (): void => wakeUp.notifyOne()
  const stops = [signal && onAbort(signal, () => stop.abort(signal.reason))]
  try {
    let seen = await within(() => core.existing('watch', id))
    const { iid } = seen
    stops.push(runtime?.endings.subscribe(iid, wake), core.changes.subscribe(iid, wake))
    // Wrapped, because a removed instance is a result as well.
    const look = async (): Promise<{ row: InstanceRow | undefined } | undefined> => {
      const row = await core.look(seen)
      return row !== undefined && isSame(row, seen) ? undefined : { row }
    }
    const isHinted = (): boolean => core.changes.isLive
    while (true) {
      yield await within(() => infoOf(core, seen))
      if (hasEnded(seen)) return
      const { row } = await within((limit) => pollUntil(clock, { look, wakeUp, isHinted }, limit))
      if (row === undefined) return
      seen = row
    }
  } catch (error) {
    if (stop.signal.reason === STOPPED) return
    throw error
  } finally {
    for (const end of stops) end?.()
  }
}

function isSame(a: InstanceRow, b: InstanceRow): boolean {
  return (
    a.status === b.status && a.progressVersion === b.progressVersion && a.execution === b.execution
  )
}
