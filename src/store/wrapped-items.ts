// What goes to a store and comes back, with every value in it wrapped or unwrapped by a chain of
// transforms. The second argument of `wrap` and `unwrap` says what a text is, and of which instance:
// the same for the writer and for every reader. So the result of a child, which the store itself puts
// into the inbox of the parent, is only a `result`.

import type { TransformChain } from '../base/codec/transform.ts'
import type { Loaded } from './claims.ts'
import type { Effects, Next, StartItem, StateChange, TurnItem, TurnRow } from './commits.ts'
import type { Delivery, InboxRow, Post } from './inbox.ts'
import type { Ending, Iid, InstanceRow } from './instances.ts'
import type { Beat, ClaimedTask, NewTask, TaskEnd } from './tasks.ts'
import type { FoundTasks } from './admin-store.ts'
import type { Whereabouts } from './whereabouts.ts'

/** Wraps and unwraps items, each as a copy. */
export class ItemWrapper {
  readonly #chain: TransformChain
  // A batch that is sent again must be the same, byte for byte: a store recognises it by that.
  readonly #starts = new WeakMap<StartItem, StartItem>()
  readonly #turns = new WeakMap<TurnItem, TurnItem>()

  constructor(chain: TransformChain) {
    this.#chain = chain
  }

  wrap(text: string, about: string): string {
    return this.#chain.wrap(text, about)
  }

  unwrap(text: string, about: string): string {
    return this.#chain.unwrap(text, about)
  }

  wrapStart(item: StartItem): StartItem {
    return once(this.#starts, item, () => ({
      ...item,
      turn: this.wrapRow(item.iid, item.turn),
      end: item.end === null ? null : this.#wrapEnd(item.end),
      messages: item.messages.map((message) => ({
        ...message,
        payload: this.wrap(message.payload, messageFor(item.id, message.name)),
      })),
      effects: this.#wrapEffects(item.effects),
    }))
  }

  wrapTurn(item: TurnItem): TurnItem {
    return once(this.#turns, item, () => ({
      ...item,
      turn: item.turn === null ? null : this.wrapRow(item.iid, item.turn),
      effects: this.#wrapEffects(item.effects),
      next: this.#wrapNext(item.iid, item.next),
    }))
  }

  wrapRow(iid: Iid, row: TurnRow): TurnRow {
    return { ...row, events: this.wrap(row.events, historyOf(iid, row)) }
  }

  unwrapRow(iid: Iid, row: TurnRow): TurnRow {
    return { ...row, events: this.unwrap(row.events, historyOf(iid, row)) }
  }

  wrapState(changes: readonly StateChange[]): readonly StateChange[] {
    return changes.map(({ key, value }) => ({
      key,
      value: value === null ? null : this.wrap(value, stateOf(key)),
    }))
  }

  wrapPost(post: Post): Post {
    const { id, kind, name, payload } = post
    const about = kind === 'message' ? messageFor(id, name) : REASON
    return { ...post, payload: this.wrap(payload, about) }
  }

  wrapDelivery(delivery: Delivery): Delivery {
    return { ...delivery, payload: this.wrap(delivery.payload, RESULT) }
  }

  wrapTaskEnd(end: TaskEnd): TaskEnd {
    switch (end.kind) {
      case 'completed':
      case 'failed':
        return { ...end, payload: this.wrap(end.payload, RESULT) }
      case 'retry':
        return end.error === undefined ? end : { ...end, error: this.wrap(end.error, ATTEMPT) }
      case 'release':
        return end
    }
  }

  wrapBeat(beat: Beat): Beat {
    const { details, local } = beat
    return {
      ...beat,
      details: details === null ? null : this.wrap(details, HEARTBEAT),
      local: local === null ? null : { ...local, task: this.#wrapTask(local.task) },
    }
  }

  unwrapTask(task: ClaimedTask): ClaimedTask {
    const { input, beat, activity } = task
    return {
      ...task,
      input: this.unwrap(input, inputOf(activity)),
      beat: beat === null ? null : this.unwrap(beat, HEARTBEAT),
    }
  }

  unwrapLoaded(loaded: Loaded): Loaded {
    const { iid, id, history, inbox } = loaded
    return {
      ...loaded,
      history: history.map((row) => this.unwrapRow(iid, row)),
      inbox: inbox.map((row) => this.#unwrapInbox(id, row)),
    }
  }

  unwrapInstance(row: InstanceRow): InstanceRow {
    const { output, report, progress } = row
    return {
      ...row,
      output: output === null ? null : this.unwrap(output, RESULT),
      report: report === null ? null : this.unwrap(report, REPORT),
      progress: progress === null ? null : this.unwrap(progress, PROGRESS),
    }
  }

  /** Tasks with the plain errors of their last attempts. */
  unwrapFoundTasks(found: FoundTasks): FoundTasks {
    const tasks = found.tasks.map((task) => ({
      ...task,
      error: task.error === null ? null : this.unwrap(task.error, ATTEMPT),
    }))
    return { ...found, tasks }
  }

  unwrapWhereabouts(found: Whereabouts): Whereabouts {
    const tasks = found.tasks.map((task) => ({
      ...task,
      error: task.error === null ? null : this.unwrap(task.error, ATTEMPT),
    }))
    return { ...found, tasks }
  }

  #wrapEnd(end: Ending): Ending {
    return { ...end, output: this.wrap(end.output, RESULT) }
  }

  #wrapNext(iid: Iid, next: Next): Next {
    switch (next.kind) {
      case 'keep':
      case 'release':
        return next
      case 'suspend':
        return { ...next, report: this.wrap(next.report, REPORT) }
      case 'end':
        return { ...next, end: this.#wrapEnd(next.end) }
      case 'continue':
        return { ...next, started: this.wrapRow(iid, next.started) }
    }
  }

  #wrapEffects(effects: Effects | null): Effects | null {
    if (effects === null) return null
    const { state, progress, replies, tasks } = effects
    return {
      ...effects,
      state: this.wrapState(state),
      progress: progress === null ? null : this.wrap(progress, PROGRESS),
      replies: replies.map(({ to, payload }) => ({ to, payload: this.wrap(payload, replyTo(to)) })),
      tasks: tasks.map((task) => this.#wrapTask(task)),
    }
  }

  #wrapTask(task: NewTask): NewTask {
    return { ...task, input: this.wrap(task.input, inputOf(task.activity)) }
  }

  #unwrapInbox(id: string, row: InboxRow): InboxRow {
    const { kind, name, payload } = row
    if (payload === null) return row
    const about =
      kind === 'message'
        ? messageFor(id, name)
        : kind === 'cancel' || kind === 'terminate'
          ? REASON
          : RESULT
    return { ...row, payload: this.unwrap(payload, about) }
  }
}

export const RESULT = 'result'
export const REPORT = 'report'
const REASON = 'reason'
const PROGRESS = 'progress'
const HEARTBEAT = 'heartbeat'
const ATTEMPT = 'failed attempt'

export function stateOf(key: string): string {
  return `state ${key}`
}

export function templateOf(name: string): string {
  return `schedule ${name}`
}

export function replyTo(address: string): string {
  return `reply ${address}`
}

function historyOf(iid: Iid, { execution, turn }: TurnRow): string {
  return `history ${iid} ${execution} ${turn}`
}

// Ids and names contain no control characters, so no two pairs give the same text.
function messageFor(id: string, channel: string): string {
  return `message ${id}\n${channel}`
}

function inputOf(activity: string): string {
  return `input ${activity}`
}

function once<T extends object>(made: WeakMap<T, T>, item: T, make: () => T): T {
  let found = made.get(item)
  if (found === undefined) made.set(item, (found = make()))
  return found
}
