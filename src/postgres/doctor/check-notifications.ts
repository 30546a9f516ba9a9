import { randomBytes } from 'node:crypto'

import { notify } from '../../base/sync/notify.ts'
import { answered, type Connections, makePool } from '../connect/connections.ts'
import { storeError } from '../connect/errors.ts'
import type { Finding } from './finding.ts'
import { listenConnectionsFrom, type OpenListenConnection } from '../notifier/listen-connection.ts'
import type { ListenSource } from '../connect/options.ts'

const ARRIVES_WITHIN_MS = 3_000

/** Whether a notification that is sent reaches this process. */
export async function checkNotifications(
  connections: Connections,
  listenTo: ListenSource | undefined,
  isStandby: boolean,
): Promise<Finding> {
  if (listenTo === undefined) {
    return {
      level: 'note',
      what: 'hints',
      detail: "notify is 'off': processes find new work by polling, within ten seconds",
      fix: "use notify: 'auto', unless the server has no connection to spare",
    }
  }
  if (isStandby) {
    const detail = 'notifications cannot be tested on a standby'
    return { level: 'note', what: 'hints', detail, fix: '' }
  }
  try {
    if (await receivesNotifications(connections, listenTo)) {
      return { level: 'ok', what: 'hints', detail: 'a notification reached this process', fix: '' }
    }
  } catch (error) {
    // The other findings are still worth reporting.
    const { message } = storeError('listen', error, 'connect')
    return {
      level: 'warning',
      what: 'hints',
      detail: `cannot open a connection for notifications: ${message}`,
      fix: 'allow this process one more connection, or correct listenUrl',
    }
  }
  return {
    level: 'warning',
    what: 'hints',
    detail:
      `a notification did not reach this process within ${ARRIVES_WITHIN_MS / 1_000} s: a pooler ` +
      'such as PgBouncer in transaction mode drops LISTEN',
    fix: 'set listenUrl to an address that bypasses the pooler',
  }
}

async function receivesNotifications(
  connections: Connections,
  listenTo: ListenSource,
): Promise<boolean> {
  const own = 'pool' in listenTo ? undefined : await makePool(listenTo.url, 1)
  const { isForListening = false } = listenTo
  const openConnection =
    'pool' in listenTo
      ? listenConnectionsFrom(listenTo.pool, { isOurs: false, isForListening })
      : listenConnectionsFrom(own!, { isOurs: true, isForListening })
  try {
    return await arrives(connections, openConnection)
  } finally {
    await own?.end()
  }
}

async function arrives(
  connections: Connections,
  openConnection: OpenListenConnection,
): Promise<boolean> {
  const channel = `holdfast_doctor_${randomBytes(8).toString('hex')}`
  const arrived = notify()
  const connection = await openConnection({
    received: (through) => through === channel && arrived.notifyOne(),
    // A lost connection receives nothing: that is the finding.
    lost: () => {},
  })
  try {
    await connection.listen(channel)
    const sent = connections.query('doctor', 'other', {
      text: 'select pg_notify($1, $2)',
      values: [channel, ''],
    })
    // A pool may have no second connection.
    await answered('doctor', sent, ARRIVES_WITHIN_MS)
    const late = AbortSignal.timeout(ARRIVES_WITHIN_MS)
    return await arrived.wait(late).then(
      () => true,
      () => false,
    )
  } finally {
    connection.close()
  }
}
