import { systemClock } from '../../base/time/clock.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { resolveOptions } from '../../base/options.ts'
import { type Connections, connectionsFor, type Session } from '../connect/connections.ts'
import { checkNotifications } from './check-notifications.ts'
import type { Finding } from './finding.ts'
import { POSTGRES_OPTIONS, type PostgresOptions, settingsOf } from '../connect/options.ts'
import { quoted } from '../connect/schema-name.ts'
import { type AppliedFile, FILES, readApplied, schemaState } from '../schema/schema-state.ts'
import { checkSettings } from '../connect/server-settings.ts'
import { schemaConflictError } from '../schema/schema-conflicts.ts'

/** Which database `doctor` examines: the options of `postgres`. */
export interface DoctorOptions extends PostgresOptions {
  /** Transactions that have been open for longer are reported. @default '1m' */
  readonly longTransaction?: Duration
}

const WORST_FIRST: readonly Finding['level'][] = ['error', 'warning', 'note', 'ok']
const LONG_MS = 60_000
/** Up to here, timestamps of two logs can be compared. */
const SAME_TIME_MS = 1_000

/**
 * Examines a schema and its server, and reports what holds vacuum back, missing indexes, settings that
 * lose data, instances that wait for code, and more, the worst first. It only reads, and needs no more
 * privileges than a client.
 *
 * `select * from doctor()` in the schema reports the same, except for what only a process can test:
 * whether its version and its clock match, and whether notifications arrive.
 */
export async function doctor(options: DoctorOptions = {}): Promise<readonly Finding[]> {
  const { longTransaction: longMs, ...rest } = resolveOptions('doctor', options, {
    ...POSTGRES_OPTIONS,
    longTransaction: duration(LONG_MS),
  })
  const settings = settingsOf('doctor', rest)
  const { schema, listenTo } = settings
  const connections = connectionsFor(settings)
  try {
    const findings = await connections.session('doctor', (session) =>
      examine(session, schema, longMs),
    )
    findings.push(await checkNotifications(connections, listenTo, await isStandby(connections)))
    return findings.toSorted((a, b) => WORST_FIRST.indexOf(a.level) - WORST_FIRST.indexOf(b.level))
  } finally {
    await connections.close()
  }
}

async function examine(session: Session, schema: string, longMs: number): Promise<Finding[]> {
  const findings = [await checkClock(session), await checkMigrations(session, schema)]
  const { rows } = await session.query({
    text: 'select to_regprocedure($1) is not null as known',
    values: [`${quoted(schema)}.doctor(bigint)`],
  })
  if (!(rows[0] as { known: boolean }).known) {
    return [...findings, await checkServer(session)]
  }
  const answer = await session.query({
    text: `select * from ${quoted(schema)}.doctor($1)`,
    values: [longMs],
  })
  // This process can say more about migrations than the schema can.
  return [...findings, ...(answer.rows as Finding[]).filter(({ what }) => what !== 'migrations')]
}

/** How far the clock of this process differs from that of the server. */
export async function checkClock(session: Session, clock = systemClock()): Promise<Finding> {
  let best = { wayMs: Infinity, offsetMs: 0 }
  for (let round = 0; round < 3; round++) {
    const beganMs = clock.now()
    const { rows } = await session.query({
      text: 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    })
    const wayMs = clock.now() - beganMs
    const hereMs = clock.date().getTime() - wayMs / 2
    if (wayMs < best.wayMs) best = { wayMs, offsetMs: (rows[0] as { ms: number }).ms - hereMs }
  }
  const { offsetMs, wayMs } = best
  const apart = Math.round(Math.abs(offsetMs))
  const words = `the clock of this process is ${apart} ms ${offsetMs < 0 ? 'ahead of' : 'behind'}`
  const detail = `${words} the server's, within ${Math.ceil(wayMs / 2)} ms`
  if (apart - wayMs / 2 <= SAME_TIME_MS) return { level: 'ok', what: 'clock', detail, fix: '' }
  return {
    level: 'warning',
    what: 'clock',
    detail: `${detail}; no decision depends on it, but timestamps in logs cannot be compared`,
    fix: 'synchronize both machines with NTP',
  }
}

async function checkMigrations(session: Session, schema: string): Promise<Finding> {
  const what = 'migrations'
  let applied: readonly AppliedFile[]
  try {
    applied = await readApplied(session, schema)
  } catch (error) {
    const detail = `cannot read which migrations were applied to schema "${schema}": ${String(error)}`
    return { level: 'note', what, detail, fix: 'use a role that is allowed to read the tables' }
  }
  const state = schemaState(applied, schema, FILES)
  switch (state.kind) {
    case 'refused': {
      const fix = 'use the newer version here as well, or another schema'
      return { level: 'error', what, detail: state.error.message, fix }
    }
    case 'ahead': {
      const detail = `schema "${schema}" was upgraded by ${state.by}; version ${FILES.version} works with it`
      return { level: 'note', what, detail, fix: 'finish the upgrade' }
    }
    case 'behind': {
      const { missing } = state
      if (missing.length === 0) {
        const detail = `schema "${schema}" is up to date for version ${FILES.version}`
        return { level: 'ok', what, detail, fix: '' }
      }
      const conflict = await schemaConflictError(session, schema, missing, applied.length === 0)
      if (conflict !== undefined) {
        const fix = 'use another schema'
        return { level: 'error', what, detail: conflict.message, fix }
      }
      return {
        level: 'error',
        what,
        detail: `schema "${schema}" is not up to date: ${named(missing.map(({ name }) => name))}`,
        fix: 'open the store with a role that is allowed to change it, or run the SQL of migrationSql()',
      }
    }
  }
}

/** The finding for a server without our schema. */
async function checkServer(session: Session): Promise<Finding> {
  try {
    await checkSettings(session)
    return {
      level: 'ok',
      what: 'settings',
      detail: 'the server has the required settings',
      fix: '',
    }
  } catch (error) {
    const { message } = error as Error
    return { level: 'error', what: 'settings', detail: message, fix: 'see the message' }
  }
}

async function isStandby(connections: Connections): Promise<boolean> {
  const { rows } = await connections.query('doctor', 'other', {
    text: 'select pg_is_in_recovery() as standby',
  })
  return (rows[0] as { standby: boolean }).standby
}

function named(names: readonly string[]): string {
  const max = 5
  const rest = names.length - max
  return names.slice(0, max).join(', ') + (rest > 0 ? ` and ${rest} more are missing` : ' missing')
}
