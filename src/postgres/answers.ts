import { StoreError } from '../store/store-error.ts'
import type {
  Claim,
  ClaimAnswer,
  CommitAnswer,
  InboxRow,
  InstanceRow,
  Loaded,
  TickAnswer,
  TurnRow,
  Verdict,
} from '../store/workflow-store.ts'
import { STATUS_NUMBERS } from './commit-values.ts'
import { text, whole, wholeOrNull, wholes, type Row } from './wire.ts'

// Rows of the server turned into what the port speaks of.

const VERDICTS: Readonly<Record<string, Verdict>> = { d: 'done', r: 'refused', e: 'exists' }

const STATUSES = new Map<number, InstanceRow['status']>([
  [1, 'running'],
  ...Object.entries(STATUS_NUMBERS).map(
    ([status, number]) => [number, status as InstanceRow['status']] as const,
  ),
])

/** One letter per item. */
export function toVerdicts(letters: string | null | undefined): Verdict[] {
  return Array.from(letters ?? '', (letter) => VERDICTS[letter]!)
}

/** What `commit_batch` answers. */
export function toCommitAnswer(row: Row): CommitAnswer {
  const clock = whole(row, 'clock')
  const state = text(row, 'state')
  if (state === 'dead') return { state, clock }
  if (state === 'verify') return { state, clock, server: text(row, 'server') }
  const { starts, turns } = row
  return { state: 'ok', clock, starts: toVerdicts(starts), turns: toVerdicts(turns) }
}

/** What `claim` answers. */
export function toClaimAnswer(row: Row): ClaimAnswer {
  const epochs = wholes(row, 'epochs')
  const executions = wholes(row, 'executions')
  const turns = wholes(row, 'turns')
  const attempts = wholes(row, 'attempts')
  return {
    state: text(row, 'state') === 'dead' ? 'dead' : 'ok',
    clock: whole(row, 'clock'),
    claims: wholes(row, 'iids').map((iid, i) => ({
      iid,
      epoch: epochs[i]!,
      execution: executions[i]!,
      turn: turns[i]!,
      attempts: attempts[i]!,
    })),
  }
}

/** A row of `owned`. */
export function toClaim(row: Row): Claim {
  return {
    iid: whole(row, 'iid'),
    epoch: whole(row, 'epoch'),
    execution: whole(row, 'execution'),
    turn: whole(row, 'turn'),
    attempts: whole(row, 'attempts'),
  }
}

/** What `tick` answers. */
export function toTickAnswer(row: Row): TickAnswer {
  const clock = whole(row, 'clock')
  if (text(row, 'state') === 'dead') return { state: 'dead', clock }
  return {
    state: 'ok',
    clock,
    server: text(row, 'server'),
    mail: wholes(row, 'mail'),
    owned: whole(row, 'owned'),
    claimable: text(row, 'claimable') === 't',
    nextDue: wholeOrNull(row, 'next_due'),
  }
}

interface Loading extends Loaded {
  readonly history: TurnRow[]
  readonly inbox: InboxRow[]
}

/** What `load` answers: the parts of all instances, the instances themselves first. */
export function toLoaded(rows: readonly Row[]): Map<number, Loaded> {
  const loaded = new Map<number, Loading>()
  for (const row of rows) {
    const iid = whole(row, 'iid')
    const execution = whole(row, 'execution')
    const part = text(row, 'part')
    switch (part) {
      case 'instance':
        loaded.set(iid, {
          iid,
          id: text(row, 'text'),
          workflow: { name: text(row, 'name'), version: text(row, 'version') },
          execution,
          history: [],
          inbox: [],
        })
        break
      case 'turn':
        loaded.get(iid)!.history.push({
          execution,
          turn: whole(row, 'number'),
          at: whole(row, 'at'),
          first: whole(row, 'first'),
          count: whole(row, 'count'),
          events: text(row, 'text'),
        })
        break
      case 'result':
        loaded.get(iid)!.inbox.push({
          id: whole(row, 'number'),
          kind: 'result',
          execution,
          command: whole(row, 'first'),
          payload: text(row, 'text'),
        })
        break
      default:
        throw new StoreError('corrupt', 'load', `unknown part "${part}" of instance ${iid}`)
    }
  }
  return loaded
}

/** Rows of `find` and `instance_rows`, each at its place among `count`. */
export function toInstances(rows: readonly Row[], count: number): (InstanceRow | undefined)[] {
  const instances: (InstanceRow | undefined)[] = Array.from({ length: count })
  for (const row of rows) instances[whole(row, 'place') - 1] = toInstance(row)
  return instances
}

function toInstance(row: Row): InstanceRow {
  const status = STATUSES.get(whole(row, 'status'))
  if (status === undefined) {
    throw new StoreError('corrupt', 'find', `unknown status ${row['status']} of "${row['id']}"`)
  }
  return {
    iid: whole(row, 'iid'),
    id: text(row, 'id'),
    workflow: { name: text(row, 'name'), version: text(row, 'version') },
    execution: whole(row, 'execution'),
    status: row['held'] === 't' ? 'suspended' : status,
    wakeAt: wholeOrNull(row, 'wake_at'),
    createdAt: whole(row, 'created_at'),
    updatedAt: whole(row, 'updated_at'),
    finishedAt: wholeOrNull(row, 'finished_at'),
    output: row['output'] ?? null,
    report: row['report'] ?? null,
  }
}
