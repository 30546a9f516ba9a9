import { StoreError } from '../../store/store-error.ts'
import type { Session } from './connections.ts'

const OLDEST_VERSION = 14

/** The settings that Holdfast requires, why, and how to fix them. */
const REQUIRED: readonly {
  readonly name: string
  readonly allowed: readonly string[]
  readonly why: string
  readonly fix: string
}[] = [
  {
    name: 'fsync',
    allowed: ['on'],
    why: 'acknowledged work would be lost in a power failure',
    fix: 'set fsync = on in postgresql.conf and reload',
  },
  {
    name: 'synchronous_commit',
    allowed: ['on', 'remote_apply'],
    why: 'acknowledged work could be lost in a crash',
    fix: 'turn it on for this role: alter role … set synchronous_commit = on',
  },
  {
    name: 'default_transaction_isolation',
    allowed: ['read committed', 'read uncommitted'],
    why: 'a stale owner could pass for the current one',
    fix:
      'give Holdfast a role of its own, and set it for that: alter role … set ' +
      'default_transaction_isolation = "read committed"',
  },
  {
    name: 'server_encoding',
    allowed: ['UTF8'],
    why: 'some characters could not be stored',
    fix: "use a database made with encoding 'UTF8'",
  },
]

/** Throws `misconfigured` for a server that cannot be relied on; names the setting and the fix. */
export async function checkSettings(session: Session): Promise<void> {
  // Not from pg_settings, which computes all of them.
  const { rows } = await session.query({
    text: 'select name, current_setting(name, true) as setting from unnest($1::text[]) as name',
    values: [['server_version_num', ...REQUIRED.map(({ name }) => name)]],
  })
  const settings = new Map(
    (rows as { name: string; setting: string | null }[]).map(({ name, setting }) => [
      name,
      setting,
    ]),
  )

  const version = Math.floor(Number(settings.get('server_version_num')) / 10_000)
  if (version < OLDEST_VERSION) {
    throw misconfigured(`PostgreSQL ${OLDEST_VERSION} or newer is required, this is ${version}`)
  }
  for (const { name, allowed, why, fix } of REQUIRED) {
    const setting = settings.get(name)
    if (typeof setting === 'string' && !allowed.includes(setting)) {
      throw misconfigured(`the setting ${name} is "${setting}": ${why}; ${fix}`)
    }
  }
}

function misconfigured(message: string): StoreError {
  return new StoreError('misconfigured', 'open', message)
}
