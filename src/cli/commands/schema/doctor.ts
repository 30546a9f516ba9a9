import { statSync } from 'node:fs'
import type { Client } from '../../../index.ts'
import type { DoctorOptions, Finding } from '../../../postgres/index.ts'
import { type Call, command, type Surroundings } from '../../args/command.ts'
import { CliError, EXIT, messageOf } from '../../errors/cli-error.ts'
import { durationValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { safeLines, safeText } from '../../output/safe-text.ts'
import type { Style } from '../../output/terminal.ts'
import { ageText } from '../../output/times.ts'
import { requireStore, type StoreChoice } from '../../store/choose-store.ts'
import { isDamage, statusOf, withClient } from '../../store/with-client.ts'

const STYLES: Readonly<Record<Finding['level'], Style>> = {
  ok: 'green',
  note: 'cyan',
  warning: 'yellow',
  error: 'red',
}

const MIGRATE =
  '`holdfast migrate` as a role that is allowed to change it, or have its owner run the SQL of ' +
  '`holdfast migrate --print`'

const OPTIONS = {
  'long-transaction': {
    type: 'string',
    value: '<duration>',
    help: 'on PostgreSQL: report transactions that have been open for longer (default: 1m)',
  },
} as const

export const doctor = command({
  name: 'doctor',
  summary: 'examine a store and report what is wrong with it',
  details:
    'It only reads. The exit code is 1 if there is an error among the findings; warnings do not count.',
  args: [],
  options: OPTIONS,
  examples: [
    { line: 'holdfast doctor', what: 'the worst first' },
    { line: 'holdfast doctor -o json', what: 'for monitoring' },
  ],
  run: async (call) => {
    const choice = requireStore(call)
    const long = call.options['long-transaction']
    const findings = await examine(call, choice, {
      ...(long !== undefined && { longTransaction: durationValue(long, '--long-transaction') }),
    })
    print(call, findings)
    return findings.some(({ level }) => level === 'error') ? EXIT.failed : EXIT.ok
  },
})

/** Examines a store. */
export async function examine(
  surroundings: Surroundings,
  choice: StoreChoice,
  options: Pick<DoctorOptions, 'longTransaction'> = {},
): Promise<readonly Finding[]> {
  if (choice.kind === 'memory') throw new CliError('memory: has nothing to examine', EXIT.usage)
  if (choice.kind === 'sqlite') return examineFile(surroundings, choice)
  const { doctor: examineServer } = await import('../../../postgres/index.ts')
  const findings = await examineServer({ url: choice.url, schema: choice.schema, ...options })
  return findings.map((finding) =>
    // It speaks of a function; here, there is a command.
    finding.fix.includes('migrationSql()') ? { ...finding, fix: MIGRATE } : finding,
  )
}

function print({ terminal, format }: Call<typeof OPTIONS>, findings: readonly Finding[]): void {
  if (format === 'json') return terminal.print(toJson(findings, 2))
  if (format === 'ids') return findings.forEach(({ what }) => terminal.print(safeText(what)))
  for (const { level, what, detail, fix } of findings) {
    const label = terminal.style(STYLES[level], level.padEnd(7))
    terminal.print(`${label}  ${safeText(what)}: ${safeText(detail)}`)
    if (fix === '') continue
    for (const line of safeLines(fix).split('\n')) terminal.print(`         ${line}`)
  }
}

/** What can be found out about a file: whether it is sound, and what its runtimes do. */
async function examineFile(
  surroundings: Surroundings,
  choice: Extract<StoreChoice, { kind: 'sqlite' }>,
): Promise<readonly Finding[]> {
  const { path } = choice
  const findings: Finding[] = []
  try {
    const { state, detail } = await statusOf(choice)
    if (state === 'refused') return [await refusal(path, detail)]
    if (state !== 'current') {
      const level = state === 'behind' ? 'warning' : 'error'
      return [{ level, what: 'migrations', detail, fix: '`holdfast migrate`' }]
    }
    findings.push({ level: 'ok', what: 'migrations', detail, fix: '' }, walSize(path))
    findings.push(await integrity(path))
    findings.push(...(await withClient(surroundings, work)))
  } catch (error) {
    // What was found so far counts, and a damaged file may fail in any way.
    const isKnown = findings.some(({ what, level }) => what === 'integrity' && level === 'error')
    if (!isKnown && !isDamage(error)) throw error
    if (!isKnown) findings.push(damage(path, messageOf(error)))
  }
  const order = ['error', 'warning', 'note', 'ok']
  return findings.toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
}

/** Why a file cannot be used: it is of a newer version, or not of a store at all. */
async function refusal(path: string, detail: string): Promise<Finding> {
  const { openDatabase } = await import('../../../sqlite/index.ts')
  try {
    openDatabase({ path }).close()
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'newer_schema') {
      const fix = 'name the file of a store; if this was one, restore a backup'
      return { level: 'error', what: 'integrity', detail, fix }
    }
  }
  return { level: 'error', what: 'migrations', detail, fix: 'use the version that wrote it' }
}

async function integrity(path: string): Promise<Finding> {
  const { openDatabase } = await import('../../../sqlite/index.ts')
  const database = openDatabase({ path })
  try {
    const rows = database.prepare('pragma quick_check(3)').all() as { quick_check: string }[]
    const found = rows.map((row) => row.quick_check)
    if (found[0] !== 'ok') return damage(path, found.join('; '))
    return { level: 'ok', what: 'integrity', detail: 'pragma quick_check finds nothing', fix: '' }
  } finally {
    database.close()
  }
}

function damage(path: string, found: string): Finding {
  const detail = found.includes(path) ? found : `${path}: ${found}`
  const fix = 'stop all processes, copy the file, and restore a backup'
  return { level: 'error', what: 'integrity', detail, fix }
}

const LARGE_WAL = 64 * 1024 ** 2

function walSize(path: string): Finding {
  const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const detail = `the write-ahead log has ${Math.round(bytes / 1024)} KB`
  if (bytes < LARGE_WAL) return { level: 'ok', what: 'wal', detail, fix: '' }
  const fix =
    'end the connection that reads for a long time, for example a shell with an open query'
  return { level: 'warning', what: 'wal', detail, fix }
}

const LATE_MS = 30_000

async function work(client: Client): Promise<readonly Finding[]> {
  const { admin } = client
  const [unserved, runtimes, stats] = await Promise.all([
    admin.unserved(),
    admin.runtimes(),
    admin.stats(),
  ])
  const silent = runtimes.filter(({ state }) => state === 'silent').length
  const alive = runtimes.filter(({ state }) => state === 'alive').length
  const { suspended, oldestDueMs } = stats
  const findings: Finding[] = unserved.map(({ waiting, reason }) => ({
    level: 'warning',
    what: 'unserved',
    detail: `${waiting} waiting: ${reason}`,
    fix: 'start a runtime with this code',
  }))
  if (suspended > 0) {
    const fix = 'holdfast errors; holdfast instances list --status suspended'
    findings.push({ level: 'warning', what: 'suspended', detail: `${suspended} suspended`, fix })
  }
  if (oldestDueMs > LATE_MS) {
    const detail = `work has been due for ${ageText(oldestDueMs)}`
    findings.push({ level: 'warning', what: 'lag', detail, fix: 'start more runtimes' })
  }
  const detail = `${alive} alive, ${silent} silent`
  findings.push({ level: silent > 0 ? 'note' : 'ok', what: 'runtimes', detail, fix: '' })
  return findings
}
