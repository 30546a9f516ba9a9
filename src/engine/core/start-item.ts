import { randomUUID } from 'node:crypto'

import type { StartItem, Verdict } from '../../store/commits.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import { type Iid, NO_VERSION, type ParentLink } from '../../store/instances.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import { computeLimitKey } from '../define/limit.ts'
import type { Values } from './values.ts'

/** An instance to start. */
export interface NewInstance {
  /** What to run when this process starts it at once. */
  readonly definition: WorkflowDefinition
  /** Whether it must run exactly this version; otherwise the runtime that takes it up decides. */
  readonly isPinned: boolean
  readonly id: string
  /** Encoded. */
  readonly input: string
  /** The seed of its first execution. It is unique, so that it identifies the start. */
  readonly seed: string
  /** The trace that it belongs to, if it is traced. */
  readonly trace?: string | undefined
  readonly parent: ParentLink | null
  /** A JSON object with string values. */
  readonly labels: string
  /** Messages that its inbox begins with, encoded. */
  readonly messages: StartItem['messages']
  readonly priority: number
  /** The key for the limit of its workflow, if the workflow has one and its code is here. */
  readonly limitKey: string | undefined
  /** The delay of its first turn; 0 for none. */
  readonly delayMs: number
  /**
   * The number under which messages already wait for it. Another process may start the same instance,
   * so it is started without an owner: the store takes the second start for a duplicate of the first.
   */
  readonly iid: Iid | undefined
}

/** The store's verdict on a start. */
export interface StartOutcome {
  readonly iid: Iid
  readonly verdict: Verdict
}

/** A seed for an execution: 32 hexadecimal digits. */
export function newSeed(newUuid: () => string = randomUUID): string {
  return newUuid().replaceAll('-', '')
}

/** The key of an input for the limit of its workflow, if that has one with keys and its code is here. */
export function limitKeyOf(
  { name, limit }: WorkflowDefinition,
  values: Values,
  input: string,
): string | undefined {
  if (limit?.key === undefined) return undefined
  return computeLimitKey(`workflow "${name}"`, limit.key, values.value(input))
}

/** The first event of a new instance. */
export function firstEvent(start: NewInstance): Extract<Event, { type: 'started' }> {
  const { definition, input, seed, parent, trace } = start
  return {
    type: 'started',
    workflow: definition.name,
    version: definition.version,
    input,
    seed,
    parentId: parent === null || parent.onClose === 'independent' ? '' : parent.id,
    state: '',
    ...(trace !== undefined && trace !== '' && { trace }),
  }
}

/** The workflow of a start without an owner: it has a version only when the caller named one. */
export function unownedWorkflow({ definition, isPinned }: NewInstance): WorkflowDefinition {
  return isPinned ? definition : { ...definition, version: NO_VERSION }
}

/** The start of an instance without an owner. Its history is its first event. */
export function startItem(
  start: NewInstance,
  place: {
    readonly iid: Iid
    readonly workflow: number
    readonly at: number
    readonly wakeAt: number
  },
): StartItem {
  const { id, parent, labels, messages, priority, limitKey } = start
  const { iid, workflow, at, wakeAt } = place
  const definition = unownedWorkflow(start)
  const events = writeEvents([firstEvent({ ...start, definition })])
  return {
    iid,
    id,
    workflow,
    owned: false,
    wakeAt,
    turn: { execution: 1, turn: 1, at, first: 1, count: 1, events },
    end: null,
    parent,
    labels,
    messages,
    effects: null,
    ...(priority !== 0 && { priority }),
    ...(limitKey !== undefined && { limitKey }),
  }
}
