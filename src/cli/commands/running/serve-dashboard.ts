import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import type { DashboardAddress, ListenOptions } from '../../../dashboard/index.ts'
import type { Queue } from '../../../queue/index.ts'
import type { Surroundings } from '../../args/command.ts'
import type { StoreChoice } from '../../store/choose-store.ts'
import { loadCodec } from '../../store/load-codec.ts'
import { queueFile } from '../../store/queue-file.ts'
import { notesOf, statusOf, storeOf } from '../../store/with-client.ts'
import { examine } from '../schema/doctor.ts'

/** What to serve, and where. */
export interface ServeOptions extends ListenOptions {
  readonly token?: string | undefined
  /** What the names of the tables of the outbox begin with. */
  readonly prefix?: string | undefined
  /** Names under which browsers reach it. */
  readonly hosts?: readonly string[]
  /** Files of queues. */
  readonly queues?: readonly string[]
}

/** A dashboard that is served. */
export interface ServedDashboard extends DashboardAddress, AsyncDisposable {}

/** Serves the dashboard of a store. */
export async function serveDashboard(
  surroundings: Surroundings,
  choice: Exclude<StoreChoice, { kind: 'memory' }>,
  { token, prefix = 'outbox', hosts = [], queues: files = [], ...listen }: ServeOptions,
): Promise<ServedDashboard> {
  const [{ connect }, { dashboard }, { outbox }] = await Promise.all([
    import('../../../index.ts'),
    import('../../../dashboard/index.ts'),
    import('../../../outbox/index.ts'),
  ])
  const client = connect(await storeOf(choice), {
    ...(await loadCodec(surroundings)),
    log: notesOf(surroundings),
  })
  const queues: Record<string, Queue<unknown>> = {}
  const close = async (): Promise<void> => {
    await client.close()
    for (const queue of Object.values(queues)) await queue.close()
  }
  try {
    for (const file of new Set(files)) {
      const isAmbiguous = files.some((one) => one !== file && basename(one) === basename(file))
      queues[isAmbiguous ? file : basename(file)] = await openQueueFile(surroundings, file)
    }
    // Asking one that does not exist would create it.
    const hasOutbox = (await statusOf(choice, prefix)).state === 'current'
    const shown = dashboard(client, {
      ...(token !== undefined && { token }),
      ...(hasOutbox && { outbox: outbox(client, { prefix }) }),
      queues,
      hosts,
      doctor: () => examine(surroundings, choice),
    })
    // The dashboard ends with its client.
    return { ...(await shown.listen(listen)), [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

/** A token that cannot be guessed. */
export function randomToken(): string {
  return randomBytes(24).toString('base64url')
}

async function openQueueFile(surroundings: Surroundings, file: string): Promise<Queue<unknown>> {
  const path = queueFile(file, surroundings.terminal.io)
  const { openQueue } = await import('../../../queue/index.ts')
  return openQueue<unknown>(path, { lazy: true, thread: false, log: notesOf(surroundings) })
}
