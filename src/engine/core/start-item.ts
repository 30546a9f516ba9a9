import { randomUUID } from 'node:crypto'

import type { StartItem, Verdict } from '../../store/commits.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import { type Iid, NO_VERSION, type ParentLink } from '../../store/instances.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'

/** A new instance to be started. */
export interface NewInstance {
  /** What to run, where it is taken up at once. */
  readonly definition: WorkflowDefinition
  /** Whether it has to be exactly that version; otherwise the first to take it up decides. */
  readonly isPinned: boolean
  readonly id: string
  /** Encoded. */
  readonly input: string
  /** Of its first execution; no two starts share one, so that a start can be told from another. */
  readonly seed: string
  readonly parent: ParentLink | null
  /** A JSON object with string values. */
  readonly labels: string
  /** In its inbox from the start, encoded. */
  readonly messages: StartItem['messages']
  /** How long it waits before its first turn; 0 for not at all. */
  readonly delayMs: number
  /**
   * The number under which messages wait for it already. Somebody else may be starting the same
   * one, so it is started unowned: a store takes the second start for the first, sent again.
   */
  readonly iid: Iid | undefined
}

/** What became of a start. */
export interface StartOutcome {
  readonly iid: Iid
  readonly verdict: Verdict
}

/** A seed for an execution: 32 hexadecimal digits. */
export function newSeed(): string {
  return randomUUID().replaceAll('-', '')
}

/** The first event of a new instance. */
export function firstEvent(start: NewInstance): Extract<Event, { type: 'started' }> {
  const { definition, input, seed, parent } = start
  return {
    type: 'started',
    workflow: definition.name,
    version: definition.version,
    input,
    seed,
    parentId: parent === null || parent.onClose === 'independent' ? '' : parent.id,
    state: '',
  }
}

/** The workflow of a start that nobody takes up at once: without a version, unless one was named. */
export function unownedWorkflow({ definition, isPinned }: NewInstance): WorkflowDefinition {
  return isPinned ? definition : { ...definition, version: NO_VERSION }
}

/** The start of an instance that nobody owns yet: all that has happened is its first event. */
export function startItem(
  start: NewInstance,
  place: {
    readonly iid: Iid
    readonly workflow: number
    readonly at: number
    readonly wakeAt: number
  },
): StartItem {
  const { id, parent, labels, messages } = start
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
  }
}
