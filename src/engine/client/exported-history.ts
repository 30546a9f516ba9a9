// Exports and imports executions as plain data. Values have the tagged form of `pack.ts`, which survives
// JSON. An import is validated as if it were written by hand.

import { describe } from '../../base/describe.ts'
import { Packer } from '../../base/codec/pack.ts'
import { unpack } from '../../base/codec/unpack.ts'
import type { TurnRow } from '../../store/commits.ts'
import type { CommandEvent, Event } from '../../store/history.ts'
import { NO_VERSION } from '../../store/instances.ts'
import type { Values } from '../core/values.ts'
import { checkId } from '../define/names.ts'
import { checkVersion } from '../../base/versions.ts'
import { checkTime, checkInteger, eventOf, historyEvents } from './history-events.ts'
import type { ExportedHistory, ExportOptions, HistoryEvent } from '../define/instance.ts'
import type { Moment } from './past.ts'
import { errorOfPlain } from './plain-errors.ts'

/** Exports an execution as plain data. */
export function exportHistory(
  id: string,
  turns: readonly TurnRow[],
  values: Values,
  redact: ExportOptions['redact'],
): ExportedHistory {
  const events = [...historyEvents(turns, values, redact)]
  const { workflow, version } = events[0]!.data as { workflow: string; version: string }
  return {
    holdfast: 1,
    id,
    workflow,
    version,
    execution: turns[0]!.execution,
    ...(redact !== undefined && { redacted: true }),
    events: events.map((event) => ({ ...event, data: pack(event) })),
  }
}

function pack({ seq, type, data }: HistoryEvent): unknown {
  return new Packer().packRoot(data, `export: event ${seq} (${type})`)
}

/** An export of events as `history()` yields them: their errors are plain objects. */
export function exportOf(events: readonly HistoryEvent[], id: string): ExportedHistory {
  const { workflow, version } = (events[0]?.data ?? {}) as { workflow: string; version: string }
  const packed = events.map((event) => ({
    ...event,
    data: pack({ ...event, data: revive(event) }),
  }))
  return { holdfast: 1, id, workflow, version, execution: 1, events: packed }
}

/** The data of an event, with errors instead of plain objects. */
function revive({ data }: HistoryEvent): unknown {
  const { error, ok, value } = (data ?? {}) as { error?: unknown; ok?: unknown; value?: unknown }
  if (error !== undefined) return { ...(data as object), error: errorOfPlain(error) }
  return ok === false ? { ...(data as object), value: errorOfPlain(value) } : data
}

/** The content of an export, validated. */
export interface Imported {
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly execution: number
  /** Whether its values were replaced. */
  readonly isRedacted: boolean
  readonly moments: readonly Moment[]
}

/**
 * Reads an export. Throws a `TypeError` that names the invalid part and begins with `verb`, the function
 * that was given it.
 */
export function readExported(exported: unknown, values: Values, verb = 'import'): Imported {
  if (typeof exported !== 'object' || exported === null) {
    throw new TypeError(`${verb}: needs an exported history, got ${describe(exported)}`)
  }
  const given = exported as { readonly [K in keyof ExportedHistory]?: unknown }
  if (given.holdfast !== 1) {
    throw new TypeError(`${verb}: holdfast must be 1, got ${describe(given.holdfast)}`)
  }
  if (!Array.isArray(given.events) || given.events.length === 0) {
    throw new TypeError(`${verb}: events must be a list of events, got ${describe(given.events)}`)
  }
  const moments = given.events.map((event, i) => readMoment(event, i + 1, values, verb))
  const imported: Imported = {
    id: checkId(given.id, `${verb}: id`),
    workflow: checkId(given.workflow, `${verb}: workflow`),
    // An instance that no runtime has claimed has no version yet.
    version:
      given.version === NO_VERSION ? NO_VERSION : checkVersion(given.version, `${verb}: version`),
    execution: checkInteger(given.execution, `${verb}: execution`),
    isRedacted: given.redacted === true,
    moments,
  }
  if (imported.version === NO_VERSION && moments.length > 1) {
    throw new TypeError(
      `${verb}: version must be a semantic version once the instance has begun, got ""`,
    )
  }
  if (imported.execution === 0) throw new TypeError(`${verb}: execution must be 1 or more, got 0`)
  checkOrder(imported, verb)
  return imported
}

function readMoment(given: unknown, seq: number, values: Values, verb: string): Moment {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`${verb}: event ${seq} must be an object, got ${describe(given)}`)
  }
  const { seq: number, type, at, data } = given as { readonly [K in keyof HistoryEvent]?: unknown }
  const what = `${verb}: event ${seq}`
  if (number !== seq) throw new TypeError(`${what}: seq must be ${seq}, got ${describe(number)}`)
  if (typeof type !== 'string') {
    throw new TypeError(`${what}: type must be a string, got ${describe(type)}`)
  }
  const where = `${what} (${type})`
  // A copy, because unpacking works in place.
  const unpacked = unpack(structuredClone(data), 1)
  return { at: checkTime(at, `${where}: at`), event: eventOf(type, unpacked, values, where) }
}

/** Throws for a history that no execution can have: see E1 to E3 in `history.ts`. */
function checkOrder({ workflow, version, moments }: Imported, verb: string): void {
  let commands = 0
  let before = 0
  for (const [i, { at, event }] of moments.entries()) {
    const where = `${verb}: event ${i + 1} (${event.type})`
    if (i === 0 ? event.type !== 'started' : event.type === 'started') {
      throw new TypeError(`${where}: the first event, and no other, must be "started"`)
    }
    if (event.type === 'started' && (event.workflow !== workflow || event.version !== version)) {
      const name = `"${event.workflow}" ${event.version}`
      throw new TypeError(
        `${where} is for workflow ${name}, but the history is for "${workflow}" ${version}`,
      )
    }
    if (event.type === 'ended' && i < moments.length - 1) {
      throw new TypeError(`${where} must be the last event`)
    }
    if (at < before) throw new TypeError(`${where}: at is earlier than that of the previous event`)
    before = at
    if (!('command' in event)) continue
    if (isCommand(event)) commands++
    if (isCommand(event) ? event.command !== commands : !isGiven(event.command, commands)) {
      const wanted = isCommand(event) ? `must be ${commands}` : 'must be that of an earlier event'
      throw new TypeError(`${where}: command ${wanted}, got ${event.command}`)
    }
  }
}

function isGiven(command: number, commands: number): boolean {
  return command >= 1 && command <= commands
}

const COMMANDS: Record<CommandEvent['type'], true> = {
  activity: true,
  step: true,
  timer: true,
  child: true,
  start: true,
  receive: true,
  send: true,
  read: true,
}

function isCommand({ type }: Event): boolean {
  return Object.hasOwn(COMMANDS, type)
}
