import type { CommitBatch, Next, StartItem, TurnItem, TurnRow } from '../../store/commits.ts'
import type { EndStatus, Ending, OnParentClose, ParentLink } from '../../store/instances.ts'
import { packEffects, unpackEffects } from './packed-effects.ts'
import { readRow, writeRow } from './packed-history.ts'
import { type Packed, PackReader, PackWriter } from './packing.ts'

// A batch of commits on its way to the thread.

const STATUSES: readonly EndStatus[] = ['completed', 'failed', 'cancelled', 'terminated']
const KINDS: readonly Next['kind'][] = ['keep', 'release', 'suspend', 'end', 'continue']
const POLICIES: readonly OnParentClose[] = ['cancel', 'terminate', 'abandon', 'independent']
const NONE = -1

// What most starts and turns lack costs them one bit of a number that they have anyway.
const OWNED = 1
const PARENT = 2
const LABELS = 4
const MESSAGES = 8
const EFFECTS = 16
const PRIORITY = 32
const LIMIT_KEY = 64
const NO_LABELS = '{}'

/** Packs a batch. */
export function packCommit({ runtime, server, starts, turns }: CommitBatch): Packed {
  const to = new PackWriter()
  to.number(runtime)
  to.text(server)
  to.number(starts.length)
  for (const item of starts) packStart(item, to)
  to.number(turns.length)
  for (const item of turns) packTurn(item, to)
  return to.packed()
}

function packStart(item: StartItem, to: PackWriter): void {
  const { parent, labels, messages, effects, priority = 0, limitKey } = item
  const parts =
    (item.owned ? OWNED : 0) |
    (parent === null ? 0 : PARENT) |
    (labels === NO_LABELS ? 0 : LABELS) |
    (messages.length === 0 ? 0 : MESSAGES) |
    (effects === null ? 0 : EFFECTS) |
    (priority === 0 ? 0 : PRIORITY) |
    (limitKey === undefined ? 0 : LIMIT_KEY)
  to.number(item.iid, item.workflow, parts, item.wakeAt ?? NONE)
  to.text(item.id)
  packRow(item.turn, to)
  packEnd(item.end, to)
  if (parent !== null) {
    const { iid, execution, command, onClose } = parent
    to.number(iid, execution, command, POLICIES.indexOf(onClose))
    to.text(parent.id)
  }
  if (labels !== NO_LABELS) to.text(labels)
  if (messages.length > 0) to.number(messages.length)
  for (const { name, payload } of messages) to.text(name, payload)
  if (effects !== null) packEffects(effects, to)
  if (priority !== 0) to.number(priority)
  if (limitKey !== undefined) to.text(limitKey)
}

function packTurn(item: TurnItem, to: PackWriter): void {
  const { iid, epoch, turn, taken, effects, next } = item
  const parts = KINDS.indexOf(next.kind) | (effects === null ? 0 : EFFECTS)
  to.number(iid, epoch, parts)
  to.list(taken)
  packRow(turn, to)
  if (effects !== null) packEffects(effects, to)
  switch (next.kind) {
    case 'keep':
      return
    case 'release':
      to.number(next.wakeAt ?? NONE)
      return
    case 'suspend':
      to.text(next.report)
      return
    case 'end':
      packEnd(next.end, to)
      return
    case 'continue':
      to.number(next.workflow, next.keep ? 1 : 0)
      packRow(next.started, to)
  }
}

function packRow(row: TurnRow | null, to: PackWriter): void {
  if (row === null) to.number(NONE)
  else writeRow(row, to)
}

function packEnd(end: Ending | null, to: PackWriter): void {
  to.number(end === null ? NONE : STATUSES.indexOf(end.status))
  if (end !== null) to.text(end.output)
}

/** Unpacks a batch. */
export function unpackCommit(packed: Packed): CommitBatch {
  const from = new PackReader(packed)
  return {
    runtime: from.number(),
    server: from.text(),
    starts: from.list(from.number(), unpackStart),
    turns: from.list(from.number(), unpackTurn),
  }
}

function unpackStart(from: PackReader): StartItem {
  const [iid, workflow, parts] = [from.number(), from.number(), from.number()]
  return {
    iid,
    workflow,
    owned: (parts & OWNED) !== 0,
    wakeAt: unpackTime(from),
    id: from.text(),
    turn: unpackRow(from)!,
    end: unpackEnd(from),
    parent: (parts & PARENT) === 0 ? null : unpackParent(from),
    labels: (parts & LABELS) === 0 ? NO_LABELS : from.text(),
    messages: (parts & MESSAGES) === 0 ? [] : from.list(from.number(), unpackMessage),
    effects: (parts & EFFECTS) === 0 ? null : unpackEffects(from),
    ...((parts & PRIORITY) !== 0 && { priority: from.number() }),
    ...((parts & LIMIT_KEY) !== 0 && { limitKey: from.text() }),
  }
}

function unpackTurn(from: PackReader): TurnItem {
  const [iid, epoch, parts] = [from.number(), from.number(), from.number()]
  return {
    iid,
    epoch,
    taken: from.numbers(),
    turn: unpackRow(from),
    effects: (parts & EFFECTS) === 0 ? null : unpackEffects(from),
    next: unpackNext(from, KINDS[parts & ~EFFECTS]!),
  }
}

function unpackNext(from: PackReader, kind: Next['kind']): Next {
  switch (kind) {
    case 'keep':
      return { kind }
    case 'release':
      return { kind, wakeAt: unpackTime(from) }
    case 'suspend':
      return { kind, report: from.text() }
    case 'end':
      return { kind, end: unpackEnd(from)! }
    case 'continue': {
      const [workflow, keep] = [from.number(), from.number() === 1]
      return { kind, workflow, keep, started: unpackRow(from)! }
    }
  }
}

function unpackRow(from: PackReader): TurnRow | null {
  const execution = from.number()
  return execution === NONE ? null : readRow(from, execution)
}

function unpackEnd(from: PackReader): Ending | null {
  const status = from.number()
  return status === NONE ? null : { status: STATUSES[status]!, output: from.text() }
}

function unpackTime(from: PackReader): number | null {
  const value = from.number()
  return value === NONE ? null : value
}

function unpackParent(from: PackReader): ParentLink {
  return {
    iid: from.number(),
    execution: from.number(),
    command: from.number(),
    onClose: POLICIES[from.number()]!,
    id: from.text(),
  }
}

function unpackMessage(from: PackReader): StartItem['messages'][number] {
  return { name: from.text(), payload: from.text() }
}
