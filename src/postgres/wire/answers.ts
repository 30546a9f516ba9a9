import type { Claim, ClaimAnswer, Loaded } from '../../store/claims.ts'
import type { CommitAnswer, TurnRow, Verdict } from '../../store/commits.ts'
import type { InboxRow, PostAnswer } from '../../store/inbox.ts'
import type { InstanceRow, ParentLink } from '../../store/instances.ts'
import type { TickAnswer } from '../../store/runtimes.ts'
import { StoreError } from '../../store/store-error.ts'
import type { OpenTask } from '../../store/tasks.ts'
import type { AwaitedLimit, TaskPlace, Whereabouts } from '../../store/whereabouts.ts'
import type { FiringVerdict } from '../../store/schedules.ts'
import { FIRINGS, KINDS, ON_CLOSES, POST_VERDICTS, STATUSES, VERDICTS } from './numbers.ts'
import { splitTexts, text, int, intOrNull, ints, intsOrNull, type Row } from '../connect/rows.ts'

// Converts rows of procedures into the types of the port.

/** One letter per item. */
export function toVerdicts(letters: string | null | undefined): Verdict[] {
  return Array.from(letters ?? '', (letter) => VERDICTS.get(letter)!)
}

/** One letter per item. */
export function toFlags(letters: string): boolean[] {
  return Array.from(letters, (letter) => letter === 't')
}

/** One letter per firing of a schedule. */
export function toFirings(letters: string): FiringVerdict[] {
  return Array.from(letters, (letter) => FIRINGS.get(letter)!)
}

/** What `commit_batch` answers. */
export function toCommitAnswer(row: Row): CommitAnswer {
  const clock = int(row, 'clock')
  const state = text(row, 'state')
  if (state === 'dead') return { state, clock }
  if (state === 'verify') return { state, clock, server: text(row, 'server') }
  const { starts, turns, woken = null } = row
  return {
    state: 'ok',
    clock,
    starts: toVerdicts(starts),
    turns: toVerdicts(turns),
    ...(woken !== null && { woken: ints(row, 'woken') }),
  }
}

/** What `claim` answers. */
export function toClaimAnswer(row: Row): ClaimAnswer {
  const epochs = ints(row, 'epochs')
  const executions = ints(row, 'executions')
  const turns = ints(row, 'turns')
  const deaths = ints(row, 'attempts')
  const doings = splitTexts(row, 'doings')
  return {
    state: text(row, 'state') === 'dead' ? 'dead' : 'ok',
    clock: int(row, 'clock'),
    claims: ints(row, 'iids').map((iid, i) => ({
      iid,
      epoch: epochs[i]!,
      execution: executions[i]!,
      turn: turns[i]!,
      deaths: deaths[i]!,
      doing: doings[i]!,
    })),
    passed: ints(row, 'passed'),
    ...(row['unkeyed'] !== null && { unkeyed: ints(row, 'unkeyed') }),
    ...(row['has_more'] === 't' && { hasMore: true }),
    nextDue: intOrNull(row, 'next_due'),
  }
}

/** A row of `owned`. */
export function toClaim(row: Row): Claim {
  return {
    iid: int(row, 'iid'),
    epoch: int(row, 'epoch'),
    execution: int(row, 'execution'),
    turn: int(row, 'turn'),
    deaths: int(row, 'attempts'),
    doing: text(row, 'doing'),
  }
}

/** What `tick` answers. */
export function toTickAnswer(row: Row): TickAnswer {
  const clock = int(row, 'clock')
  if (text(row, 'state') === 'dead') return { state: 'dead', clock }
  return {
    state: 'ok',
    clock,
    server: text(row, 'server'),
    mail: ints(row, 'mail'),
    claimable: text(row, 'claimable') === 't',
    nextDue: intOrNull(row, 'next_due'),
    nextTask: intOrNull(row, 'next_task'),
    nextSchedule: intOrNull(row, 'next_schedule'),
    stranded: row['stranded'] === null ? [] : ints(row, 'stranded'),
    wanted: toFlags(text(row, 'wanted')),
    helped: row['helped'] === '' ? [] : splitTexts(row, 'helped'),
    undelivered: { late: int(row, 'late_messages'), early: int(row, 'early_messages') },
    soon: text(row, 'soon') === 't',
  }
}

/** What `post` answers. */
export function toPostAnswers(row: Row): PostAnswer[] {
  const iids = ints(row, 'iids')
  const owners = intsOrNull(row, 'owners')
  return Array.from(text(row, 'verdicts'), (letter, i) => ({
    verdict: POST_VERDICTS.get(letter)!,
    iid: iids[i]!,
    owner: owners[i]!,
  }))
}

interface Loading extends Loaded {
  parent: ParentLink | null
  readonly history: TurnRow[]
  readonly inbox: InboxRow[]
  readonly tasks: OpenTask[]
}

/** What `load` answers: the parts of all instances, the instances themselves first. */
export function toLoaded(rows: readonly Row[]): Map<number, Loaded> {
  const loaded = new Map<number, Loading>()
  for (const row of rows) {
    const iid = int(row, 'iid')
    const execution = int(row, 'execution')
    const part = text(row, 'part')
    switch (part) {
      case 'instance':
        loaded.set(iid, {
          iid,
          id: text(row, 'text'),
          workflow: { name: text(row, 'name'), version: text(row, 'version') },
          execution,
          parent: null,
          history: [],
          inbox: [],
          tasks: [],
        })
        break
      case 'parent':
        loaded.get(iid)!.parent = {
          iid: int(row, 'number'),
          id: text(row, 'text'),
          execution,
          command: int(row, 'first'),
          onClose: known(ON_CLOSES, int(row, 'count')),
        }
        break
      case 'turn':
        loaded.get(iid)!.history.push(toTurn(row))
        break
      case 'mail':
        loaded.get(iid)!.inbox.push({
          id: int(row, 'number'),
          kind: kindOf(int(row, 'count')),
          execution,
          command: int(row, 'first'),
          name: text(row, 'name'),
          replyTo: text(row, 'reply_to'),
          payload: row['text'] ?? null,
          parked: text(row, 'parked') === 't',
        })
        break
      case 'task':
        loaded.get(iid)!.tasks.push({
          command: int(row, 'number'),
          attempts: int(row, 'count'),
          isOwned: text(row, 'parked') === 't',
        })
        break
      default:
        throw new StoreError('corrupt', 'load', `unknown part "${part}" of instance ${iid}`)
    }
  }
  return loaded
}

/** A turn of `load`, `turns_of` and `turns_page`. */
export function toTurn(row: Row): TurnRow {
  return {
    execution: int(row, 'execution'),
    turn: int(row, 'number'),
    at: int(row, 'at'),
    first: int(row, 'first'),
    count: int(row, 'count'),
    events: text(row, 'text'),
  }
}

/** A task as `whereabouts` writes it, in words that older builds read, too. */
interface TaskJson extends Omit<TaskPlace, 'owner' | 'ownedSince'> {
  readonly holder: TaskPlace['owner']
  readonly heldSince: TaskPlace['ownedSince']
}

/** What `whereabouts` answers. */
export function toWhereabouts(row: Row): Whereabouts {
  const read = <T>(column: string, without: T): T => {
    const value = row[column]
    return value === null || value === undefined ? without : (JSON.parse(value) as T)
  }
  return {
    owner: read<Whereabouts['owner']>('owner', null),
    tasks: read<readonly TaskJson[]>('tasks', []).map(({ holder, heldSince, ...task }) => ({
      ...task,
      owner: holder,
      ownedSince: heldSince,
    })),
    runtimes: read<Whereabouts['runtimes']>('runtimes', []),
    limit: toLimit(read<LimitJson | null>('limited', null)),
  }
}

/** A limit, as `whereabouts` writes it. */
interface LimitJson extends Pick<AwaitedLimit, 'key' | 'concurrency'> {
  readonly rateCount: number | null
  readonly rateMs: number | null
  /** Missing from procedures of earlier builds. */
  readonly suspended?: number
}

function toLimit(limit: LimitJson | null): AwaitedLimit | null {
  if (limit === null) return null
  const { key, concurrency, rateCount, rateMs, suspended = 0 } = limit
  const rate = rateCount === null || rateMs === null ? null : { count: rateCount, perMs: rateMs }
  return { key, concurrency, rate, suspended }
}

/** Rows of `read_state` and `replies_to`, each at its place among `count`. */
export function toValues(rows: readonly Row[], count: number): (string | undefined)[] {
  const values: (string | undefined)[] = Array.from({ length: count })
  for (const row of rows) values[int(row, 'place') - 1] = text(row, 'value')
  return values
}

/** Rows of `find` and `instance_rows`, each at its place among `count`. */
export function toInstances(rows: readonly Row[], count: number): (InstanceRow | undefined)[] {
  const instances: (InstanceRow | undefined)[] = Array.from({ length: count })
  for (const row of rows) instances[int(row, 'place') - 1] = toInstance(row)
  return instances
}

function toInstance(row: Row): InstanceRow {
  return {
    iid: int(row, 'iid'),
    id: text(row, 'id'),
    workflow: { name: text(row, 'name'), version: text(row, 'version') },
    execution: int(row, 'execution'),
    status: statusOf(row),
    wakeAt: intOrNull(row, 'wake_at'),
    createdAt: int(row, 'created_at'),
    updatedAt: int(row, 'updated_at'),
    finishedAt: intOrNull(row, 'finished_at'),
    output: row['output'] ?? null,
    report: row['report'] ?? null,
    parent: parentOf(row),
    labels: text(row, 'labels'),
    progress: row['progress'] ?? null,
    progressVersion: int(row, 'progress_version'),
    mail: int(row, 'mail'),
  }
}

function statusOf(row: Row): InstanceRow['status'] {
  if (text(row, 'held') === 't') return 'suspended'
  if (text(row, 'scheduled') === 't') return 'scheduled'
  return known(STATUSES, int(row, 'status'))
}

function parentOf(row: Row): ParentLink | null {
  const iid = intOrNull(row, 'parent_iid')
  if (iid === null) return null
  return {
    iid,
    id: text(row, 'parent_id'),
    execution: int(row, 'parent_execution'),
    command: int(row, 'parent_command'),
    onClose: known(ON_CLOSES, int(row, 'on_close')),
  }
}

/** The kind of a row in an inbox. An unknown one concerns only the instance that receives it. */
function kindOf(number: number): InboxRow['kind'] {
  return KINDS.get(number) ?? (String(number) as InboxRow['kind'])
}

/** The word for a number; throws for one that a newer version may have written. */
function known<Word>(words: ReadonlyMap<number, Word>, number: number): Word {
  const word = words.get(number)
  if (word !== undefined) return word
  const expected = [...words.values()].join(', ')
  throw new StoreError('corrupt', 'read', `unknown code ${number}, expected one of ${expected}`)
}
