import { PermitNotify } from '../../base/notify.ts'
import { resolveOptions } from '../../base/options.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { type ClientCore, hasEnded } from './client-core.ts'
import { infoOf } from './info.ts'
import type { InstanceInfo } from './instance.ts'
import { lookUntil, WAIT_OPTIONS } from './wait.ts'

/** How an instance is doing, now and at each change, until it ends or the caller has seen enough. */
export function watch(
  core: ClientCore,
  id: string,
  given: { signal?: AbortSignal } | undefined,
): AsyncIterable<InstanceInfo> {
  const { signal } = resolveOptions('watch', given, { signal: WAIT_OPTIONS.signal })
  return {
    [Symbol.asyncIterator]() {
      // A generator alone could not be stopped while it waits for a change.
      const stop = new AbortController()
      const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
      const changes = changesOf(core, id, either)
      return {
        next: () => changes.next(),
        async return() {
          stop.abort(STOPPED)
          await changes.return(undefined)
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/** The reason of a watch that was left. */
const STOPPED = new Error('watch: it was stopped')

async function* changesOf(
  core: ClientCore,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<InstanceInfo, undefined> {
  const { clock, runtime } = core.setup
  let seen = await core.existing('watch', id)
  const news = new PermitNotify()
  const told = (): void => news.notifyOne()
  const stops = [runtime?.endings.wait(seen.iid, told), core.elsewhere.wait(seen.iid, told)]
  // Wrapped, because a deleted instance is found, too: as nothing.
  const look = async (): Promise<{ row: InstanceRow | undefined } | undefined> => {
    const row = await core.look(seen.iid)
    return row !== undefined && isSame(row, seen) ? undefined : { row }
  }
  try {
    while (true) {
      yield await infoOf(core, seen)
      if (hasEnded(seen)) return
      const { row } = await lookUntil(clock, { look, news }, signal)
      if (row === undefined) return
      seen = row
    }
  } catch (error) {
    if (signal.reason === STOPPED) return
    throw error
  } finally {
    for (const stop of stops) stop?.()
  }
}

function isSame(a: InstanceRow, b: InstanceRow): boolean {
  return a.status === b.status && a.progress === b.progress && a.execution === b.execution
}
