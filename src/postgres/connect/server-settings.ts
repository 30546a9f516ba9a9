import { StoreError } from '../../store/store-error.ts'
import type { Session } from './connections.ts'

const OLDEST_VERSION = 14

/** What must be so for the promises to hold, and how to make it so. */
const REQUIRED: readonly {
  readonly name: string
  readonly allowed: readonly string[]
  readonly why: string
  readonly fix: string
}[] = [
  {
    name: 'fsync',
    allowed: ['on'],
    why: 'acknowledged work would be lost with the power',
    fix: 'set fsync = on in postgresql.conf and reload',
  },
  {
    name: 'synchronous_commit',
    allowed: ['on', 'remote_apply'],
    why: 'acknowledged work could be lost in a crash',
    fix: 'set it on for this role: alter role … set synchronous_commit = on',
  },
  {
    name: 'default_transaction_isolation',
    allowed: ['read committed', 'read uncommitted'],
    why: 'a stale owner could be taken for the rightful one',
    fix:
      'give Holdfast a role of its own, and set it for that: alter role … set ' +
      'default_transaction_isolation = "read committed"',
  },
  {
    name: 'server_encoding',
    allowed: ['UTF8'],
    why: 'not every text could be stored',
    fix: "use a database made with encoding 'UTF8'",
  },
]

/** Throws `misconfigured` when the server would break a promise, naming the setting and the cure. */
export async function checkSettings(session: Session): Promise<void> {
  const { rows } = await session.query({
    text: `select name, setting
      from pg_settings
      where name = any ($1) or name = 'server_version_num'`,
    values: [REQUIRED.map(({ name }) => name)],
  })
  const settings = new Map(
    (rows as { name: string; setting: string }[]).map(({ name, setting }) => [name, setting]),
  )

  const version = Math.floor(Number(settings.get('server_version_num')) / 10_000)
  if (version < OLDEST_VERSION) {
    throw misconfigured(`PostgreSQL ${OLDEST_VERSION} or newer is needed, this is ${version}`)
  }
  for (const { name, allowed, why, fix } of REQUIRED) {
    const setting = settings.get(name)
    if (setting !== undefined && !allowed.includes(setting)) {
      throw misconfigured(`the setting ${name} is "${setting}": ${why}; ${fix}`)
    }
  }
}

function misconfigured(message: string): StoreError {
  return new StoreError('misconfigured', 'open', message)
}
