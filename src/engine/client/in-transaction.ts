// Starts, messages and cancellations in the caller's transaction: they take effect when the caller
// commits it, or not at all.
//
//   - All decisions about an instance, and the reads that explain them, happen inside the transaction,
//     because only there is visible what it did before.
//   - Calls in one transaction run one after the other, in order.
//   - Only the caller knows when it commits. If the end of the transaction can be observed, the runtime
//     of this process is notified then; other runtimes find the work by themselves.

import { flag, resolveOptions } from '../../base/options.ts'
import type { Post } from '../../store/inbox.ts'
import type { Iid, WorkflowName } from '../../store/instances.ts'
import type { StoreInTransaction } from '../../store/transactions.ts'
import { channelOf, definitionOf } from '../define/channels.ts'
import type { InTransaction, InTransactionOptions } from '../define/client.ts'
import { momentAfter } from '../core/moments.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import { ConflictError } from '../core/errors.ts'
import { checkId } from '../define/names.ts'
import { tracedPayload } from '../core/message-trace.ts'
import { stillLocked } from '../core/posts.ts'
import { type NewInstance, startItem, unownedWorkflow } from '../core/start-item.ts'
import { cancelPost } from './admin-verbs.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { type ClientCore, noInstance, type Past } from './client-core.ts'
import type { MailHint } from '../core/local-runtime.ts'
import type { SendOptions } from '../define/instance.ts'
import { encodeMessage, full, gone, type Message, messagePost, SEND_OPTIONS } from './send.ts'
import { type ResolvedStart, START_OPTIONS } from '../define/start-options.ts'
import { checkSameWorkflow, newInstance, seedOf, warnOfInput } from './starter.ts'

/** The methods of a client inside `tx`. */
export function inTransaction(
  core: ClientCore,
  tx: unknown,
  within: InTransactionOptions | undefined,
): InTransaction {
  const { notify } = resolveOptions('in', within, { notify: flag(true) })
  const inside = telling(core, core.setup.store.within(tx, { notify }))
  let last: Promise<unknown> = Promise.resolve()
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
  return {
    start: (workflow, ...[input, given]) =>
      inOrder(async () => {
        const options = resolveOptions('start', given, START_OPTIONS)
        return start(core, inside, checkWorkflow('start', workflow), input, options)
      }),
    send: (id, channel, data, options) =>
      inOrder(() => send(core, inside, id, channel, data, options)),
    cancel: (id, reason) =>
      inOrder(async () => {
        const [answer] = await inside.post([cancelPost(checkId(id, 'cancel: id'), reason)])
        if (answer!.verdict === 'unknown') throw noInstance('cancel', id)
      }),
  }
}

/** The same store, which also notifies the runtime of this process when the transaction has ended. */
function telling({ setup }: ClientCore, inside: StoreInTransaction): StoreInTransaction {
  const { runtime } = setup
  if (runtime === undefined || inside.ended === undefined) return inside
  let concerned: MailHint[] | undefined
  const whenEnded = async (): Promise<void> => {
    await inside.ended!()
    runtime.hint(concerned!)
    runtime.claimNow()
    concerned = undefined
  }
  const announce = (hints: readonly MailHint[]): void => {
    if (concerned !== undefined) return void concerned.push(...hints)
    concerned = [...hints]
    void whenEnded()
  }
  return {
    ...inside,
    async start(items) {
      announce([])
      return inside.start(items)
    },
    async post(posts) {
      const answers = await inside.post(posts)
      announce(answers.filter(({ verdict }) => verdict === 'sent'))
      return answers
    },
  }
}

// The first try, one by the number under which messages wait, and one more after a number that was
// given out twice.
const MAX_TRIES = 4

async function start(
  core: ClientCore,
  inside: StoreInTransaction,
  given: WorkflowDefinition,
  value: unknown,
  options: ResolvedStart,
): Promise<{ readonly id: string }> {
  if (options.onConflict === 'restart') {
    throw new RangeError(
      `start: onConflict must not be 'restart' in a transaction, which cannot end a running instance`,
    )
  }
  const wanted = await newInstance(core, given, value, options)
  const { id, delayMs } = wanted
  const workflowName = unownedWorkflow(wanted)
  const wakeAt = await dueAt(core, inside, delayMs)
  let { iid, workflow } = await numbers(core, inside, workflowName)
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const item = startItem(wanted, { iid, workflow, at: 0, wakeAt })
    const [verdict] = await inside.start([item])
    switch (verdict!) {
      case 'done': {
        // If messages waited under this number, another process may have started it first.
        const seed = tries === 1 ? undefined : await seedOf(pastOf(inside), iid)
        if (seed === undefined || seed === wanted.seed) return { id }
        await keep(core, inside, wanted, options)
        return { id }
      }
      case 'exists':
        await keep(core, inside, wanted, options)
        return { id }
      case 'unstarted':
        // It is 0 when the instance was removed since.
        iid = (await numberOf(inside, id)) || iid
        break
      case 'refused':
        core.iids.forget(iid)
        ;({ iid, workflow } = await numbers(core, inside, workflowName))
        break
      case 'locked':
      case 'untried':
        throw stillLocked('start', id)
    }
  }
  throw new ConflictError(`start: other processes keep starting and removing id "${id}"`, id)
}

/** Keeps the existing instance, if `onConflict` allows that. */
async function keep(
  core: ClientCore,
  inside: StoreInTransaction,
  wanted: NewInstance,
  { onConflict, send: letter }: ResolvedStart,
): Promise<void> {
  const { id, definition } = wanted
  const past = pastOf(inside)
  // There is none only when another process has just removed it.
  const row = await past.find(id)
  if (row !== undefined) checkSameWorkflow(row, definition)
  if (onConflict === 'error') {
    throw new ConflictError(`start: id "${id}" exists already (${row?.status ?? 'running'})`, id)
  }
  if (row !== undefined) await warnOfInput(core.setup, past, row, wanted)
  const [message] = wanted.messages
  // An instance that has ended receives nothing more.
  const hasEnded = row !== undefined && row.finishedAt !== null
  if (letter === undefined || message === undefined || hasEnded) return
  const { name, capacity } = channelOf('start: send', letter)
  const about = { channel: name, capacity, dedupeKey: '', replyTo: '' }
  await deliver(core, inside, 'start', id, about, message.payload)
}

async function send(
  core: ClientCore,
  inside: StoreInTransaction,
  id: string,
  channel: unknown,
  data: unknown,
  given: SendOptions | undefined,
): Promise<void> {
  checkId(id, 'send: id')
  const definition = definitionOf('send', 'channel', channel)
  const { dedupeKey } = resolveOptions('send', given, SEND_OPTIONS)
  const value = await encodeMessage(core, id, definition, data)
  // Only the caller knows whether it commits: the message continues the trace of the active span.
  const payload = tracedPayload(value, core.setup.tracer?.active())
  const { name, capacity } = definition
  const about = { channel: name, capacity, dedupeKey, replyTo: '' }
  await deliver(core, inside, 'send', id, about, payload)
}

async function deliver(
  core: ClientCore,
  inside: StoreInTransaction,
  verb: string,
  id: string,
  about: Omit<Message, 'payload'>,
  payload: string,
): Promise<void> {
  const { iid } = await numbers(core, inside, null)
  const [answer] = await inside.post([messagePost(id, about, payload, iid)])
  switch (answer!.verdict) {
    case 'sent':
    case 'duplicate':
      return
    case 'full':
      throw await full(pastOf(inside), verb, id, about)
    case 'ended':
    case 'unknown':
      throw await gone(pastOf(inside), verb, id)
    case 'locked':
    case 'untried':
      throw stillLocked(verb, id)
  }
}

/** Reads inside the transaction, where its own changes are visible. */
function pastOf({ reads }: StoreInTransaction): Past {
  return {
    find: async (id) => (await reads.find([id]))[0],
    history: (iid, execution) => reads.history(iid, execution),
  }
}

/** The time `delayMs` from now by the store's clock; 0 for now. */
async function dueAt(
  core: ClientCore,
  inside: StoreInTransaction,
  delayMs: number,
): Promise<number> {
  // A SQLite file is on this machine, so the store's clock is this process's; and the file is locked.
  if (inside.numbers !== undefined && delayMs > 0) {
    return momentAfter(core.setup.clock.date().getTime(), delayMs)
  }
  await core.open()
  return core.momentAfter(delayMs)
}

/** A number for a new instance, and the number of its workflow. */
async function numbers(
  core: ClientCore,
  inside: StoreInTransaction,
  workflow: WorkflowName | null,
): Promise<{ iid: Iid; workflow: number }> {
  if (inside.numbers !== undefined) return inside.numbers(workflow)
  await core.open()
  const iid = await core.iids.take()
  return { iid, workflow: workflow === null ? 0 : await core.workflowNumber(workflow) }
}

/**
 * The number under which messages wait for an id, as seen inside the transaction. The answer to a message
 * without room contains it, and leaves no trace.
 */
async function numberOf(inside: StoreInTransaction, id: string): Promise<Iid> {
  const about = { channel: '', capacity: 0, dedupeKey: '', replyTo: '' }
  const probe: Post = messagePost(id, about, 'null', 0)
  const [answer] = await inside.post([probe])
  return answer!.iid
}
