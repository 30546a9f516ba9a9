// Reads the history of an instance, and creates instances from it: history, export, import and fork.

import { describe } from '../../base/describe.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import type { TurnRow } from '../../store/commits.ts'
import { readEvents, writeEvents } from '../../store/history.ts'
import { type Iid, type InstanceRow, NO_VERSION, type WorkflowName } from '../../store/instances.ts'
import { checkId } from '../define/names.ts'
import { ConflictError } from '../core/errors.ts'
import type { ClientCore } from './client-core.ts'
import { exportHistory, readExported } from './exported-history.ts'
import { historyEvents } from './history-events.ts'
import { plainErrors } from './plain-errors.ts'
import type {
  ExportedHistory,
  ExportOptions,
  ForkOptions,
  HistoryEvent,
  HistoryOptions,
  ImportOptions,
} from '../define/instance.ts'
import { cutAfter, type Moment, momentsOf, stateAfter, turnsOf } from './past.ts'
import { resend } from '../core/resend.ts'
import { limitKeyOf } from '../core/start-item.ts'
import { checkLabels } from '../define/start-options.ts'
import type { Found } from './starter.ts'

// Few at first, for a caller who looks at one event only; then as many as an answer should have.
const FIRST_TURNS = 100
const MORE_TURNS = 1_000

/** Yields the events of an execution in order. Reads them in pages, so that a long one needs little memory. */
export async function* history(
  core: ClientCore,
  id: string,
  given: HistoryOptions | undefined,
): AsyncGenerator<HistoryEvent, undefined> {
  const { after, ...options } = resolveOptions('history', given, {
    ...EXECUTION_OPTION,
    after: number({ min: 0, max: MAX_SEQ, integer: true }, 0),
  })
  const row = await core.existing('history', id)
  const execution = options.execution ?? row.execution
  let last = after
  for (let limit = FIRST_TURNS; ; limit = MORE_TURNS) {
    const turns = await core.setup.store.history(row.iid, execution, { after: last, limit })
    if (turns.length === 0 && last === 0) throw noHistory('history', row, execution)
    for (const event of historyEvents(withVersion(turns, row), core.setup.values, plainErrors)) {
      // The first turn of a page may begin before it.
      if (event.seq > last) yield event
    }
    const { first, count } = turns.at(-1) ?? { first: 1, count: 0 }
    const end = first + count - 1
    if (turns.length < limit || end <= last) return
    last = end
  }
}

/** Exports an execution as plain data. */
export async function exportExecution(
  core: ClientCore,
  id: string,
  given: ExportOptions | undefined,
): Promise<ExportedHistory> {
  const { execution, redact } = resolveOptions('export', given, {
    ...EXECUTION_OPTION,
    redact: option(checkRedact, undefined),
  })
  const { turns } = await turnsOfExecution(core, 'export', id, execution)
  return exportHistory(id, turns, core.setup.values, redact)
}

/** Creates an instance from an export. */
export async function importExecution(
  core: ClientCore,
  exported: unknown,
  given: ImportOptions | undefined,
): Promise<Found> {
  const { id, labels } = resolveOptions('import', given, {
    id: option(checkId, undefined),
    labels: option(checkLabels, '{}'),
  })
  const imported = readExported(exported, core.setup.values)
  const { workflow: name, version, execution, moments } = imported
  await core.open()
  return restore(core, 'import', {
    id: id ?? imported.id,
    workflow: { name, version },
    labels,
    execution,
    moments,
  })
}

/** Creates an instance that shares the beginning of its history with another one. */
export async function fork(core: ClientCore, id: string, given: ForkOptions): Promise<Found> {
  const { at, id: newId } = resolveOptions('fork', given, {
    at: option(checkNumber, undefined),
    id: option(checkId, undefined),
  })
  if (at === undefined) throw new TypeError('fork: at is missing')
  const { row, turns } = await turnsOfExecution(core, 'fork', id, undefined)
  const moments = momentsOf(turns)
  if (at > moments.length) {
    throw new RangeError(`fork: at must be from 1 to ${moments.length}, got ${at}`)
  }
  return restore(core, 'fork', {
    id: newId ?? core.newId(),
    workflow: row.workflow,
    labels: row.labels,
    execution: row.execution,
    moments: cutAfter(moments, at, core.setup.clock.date().getTime()),
  })
}

/** The key for the limit of its workflow, as for a start with the same input. */
function limitKeyIn({ setup }: ClientCore, { workflow, moments }: Restored): string | undefined {
  const { registry, values } = setup
  const definition = registry?.workflow(workflow) ?? registry?.latest(workflow.name)
  const started = moments[0]?.event
  if (definition === undefined || started?.type !== 'started') return undefined
  return limitKeyOf(definition, values, started.input)
}

/** An instance to create with a history. */
interface Restored {
  readonly id: string
  readonly workflow: WorkflowName
  readonly labels: string
  readonly execution: number
  readonly moments: readonly Moment[]
}

// A number is taken only after a failover that lost writes: the next one will do.
const MAX_TRIES = 10

async function restore(core: ClientCore, verb: string, wanted: Restored): Promise<Found> {
  const { store, clock, runtime } = core.setup
  const { id, labels, execution, moments } = wanted
  const workflow = await core.workflowNumber(wanted.workflow)
  const turns = turnsOf(execution, moments)
  const state = stateAfter(moments)
  const limitKey = limitKeyIn(core, wanted)
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const iid: Iid = await core.iids.take()
    const item = { iid, id, workflow, labels, turns, state, limitKey }
    const verdict = await resend(clock, () => store.import(item))
    if (verdict === 'done') {
      runtime?.claimNow()
      core.announce({ kind: 'due', iids: [iid] })
      return { id, iid }
    }
    if (verdict !== 'refused') break
    core.iids.forget(iid)
  }
  throw new ConflictError(`${verb}: id "${id}" is taken`, id)
}

async function turnsOfExecution(
  core: ClientCore,
  verb: string,
  id: string,
  wanted: number | undefined,
): Promise<{ readonly row: InstanceRow; readonly turns: readonly TurnRow[] }> {
  const row = await core.existing(verb, id)
  const execution = wanted ?? row.execution
  const turns = await core.setup.store.history(row.iid, execution)
  if (turns.length > 0) return { row, turns: withVersion(turns, row) }
  throw noHistory(verb, row, execution)
}

function noHistory(verb: string, row: InstanceRow, execution: number): RangeError {
  return new RangeError(
    `${verb}: instance "${row.id}" has no history of execution ${execution}; its latest is ${row.execution}`,
  )
}

/** Fills in the version of a start without one, if a runtime has chosen it by now. */
function withVersion(turns: readonly TurnRow[], { workflow }: InstanceRow): readonly TurnRow[] {
  const [first, ...rest] = turns
  if (first?.first !== 1) return turns
  const [started, ...others] = readEvents(first.events)
  if (started?.type !== 'started' || started.version !== NO_VERSION) return turns
  const { version } = workflow
  return [{ ...first, events: writeEvents([{ ...started, version }, ...others]) }, ...rest]
}

/** The number of an event fits into an integer of a database. */
const MAX_SEQ = 2 ** 31 - 2

const EXECUTION_OPTION = { execution: option(checkNumber, undefined) }

function checkNumber(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw new RangeError(`${what} must be a whole number, 1 or more, got ${describe(value)}`)
}

function checkRedact(value: unknown, what: string): NonNullable<ExportOptions['redact']> {
  if (typeof value === 'function') return value as NonNullable<ExportOptions['redact']>
  throw new TypeError(`${what} must be a function, got ${describe(value)}`)
}
