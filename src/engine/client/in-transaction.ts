// Starts, messages and cancellations in a transaction that the caller commits: they happen with it,
// or not at all.
//
//   T1. What is decided about an instance is decided inside, and what explains it is read inside:
//       only there is visible what the same transaction did before.
//   T2. What is asked of one transaction is done in the order of the calls, one after the other.
//   T3. When it is committed, if ever, only the caller knows. Where its end can be seen, the runtime of
//       this process is told then; others find what there is to do by themselves.

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
import { stillLocked } from '../core/posts.ts'
import { type NewInstance, startItem, unownedWorkflow } from '../core/start-item.ts'
import { cancelPost } from './admin-verbs.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { type ClientCore, noInstance, type Past } from './client-core.ts'
import type { Hint } from '../core/local-runtime.ts'
import type { SendOptions } from '../define/instance.ts'
import { encodeMessage, full, gone, type Message, messagePost, SEND_OPTIONS } from './send.ts'
import { type ResolvedStart, START_OPTIONS } from '../define/start-options.ts'
import { checkSameWorkflow, newInstance, seedOf, warnOfInput } from './starter.ts'

/** The verbs of a client inside `tx`. */
export function inTransaction(
  core: ClientCore,
  tx: unknown,
  within: InTransactionOptions | undefined,
): InTransaction {
  const { notify } = resolveOptions('in', within, { notify: flag(true) })
  const inside = telling(core, core.setup.store.within(tx, { tells: notify }))
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

/** The same, and whoever is concerned in this process hears of it when the transaction has ended. */
function telling({ setup }: ClientCore, inside: StoreInTransaction): StoreInTransaction {
  const { runtime } = setup
  if (runtime === undefined || inside.ended === undefined) return inside
  let concerned: Hint[] | undefined
  const whenEnded = async (): Promise<void> => {
    await inside.ended!()
    runtime.hint(concerned!)
    runtime.claimNow()
    concerned = undefined
  }
  const tell = (hints: readonly Hint[]): void => {
    if (concerned !== undefined) return void concerned.push(...hints)
    concerned = [...hints]
    void whenEnded()
  }
  return {
    ...inside,
    async start(items) {
      tell([])
      return inside.start(items)
    },
    async post(posts) {
      const answers = await inside.post(posts)
      tell(answers.filter(({ verdict }) => verdict === 'sent'))
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
      `start: onConflict must not be 'restart' in a transaction: what runs cannot be ended in it`,
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
        // Under a number that messages wait under, somebody else may have been first.
        const seed = tries === 1 ? undefined : await seedOf(pastOf(inside), iid)
        if (seed === undefined || seed === wanted.seed) return { id }
        await keep(core, inside, wanted, options)
        return { id }
      }
      case 'exists':
        await keep(core, inside, wanted, options)
        return { id }
      case 'absent':
        // Unless it was removed since.
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
  throw new ConflictError(`start: id "${id}" is started and removed by others all the time`, id)
}

/** Leaves the instance that has the id as it is, if the options allow that. */
async function keep(
  core: ClientCore,
  inside: StoreInTransaction,
  wanted: NewInstance,
  { onConflict, send: letter }: ResolvedStart,
): Promise<void> {
  const { id, definition } = wanted
  const past = pastOf(inside)
  // There is none only when somebody removed it just now.
  const row = await past.find(id)
  if (row !== undefined) checkSameWorkflow(row, definition)
  if (onConflict === 'error') {
    throw new ConflictError(`start: id "${id}" exists already (${row?.status ?? 'running'})`, id)
  }
  if (row !== undefined) await warnOfInput(core.setup.log, past, row, wanted)
  const [message] = wanted.messages
  // One that has ended reads nothing any more: it is returned as it is.
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
  const payload = await encodeMessage(core, definition, data)
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

/** Where to read what explains an answer: inside, where what the same transaction did is visible. */
function pastOf({ reads }: StoreInTransaction): Past {
  return {
    find: async (id) => (await reads.find([id]))[0],
    history: (iid, execution) => reads.history(iid, execution),
  }
}

/** The moment so long from now, by the store's clock; 0 for now. */
async function dueAt(
  core: ClientCore,
  inside: StoreInTransaction,
  delayMs: number,
): Promise<number> {
  // A file that this transaction has locked is on this machine, and goes by its clock.
  if (inside.numbers !== undefined && delayMs > 0) {
    return momentAfter(core.setup.clock.date().getTime(), delayMs)
  }
  await core.open()
  return core.momentAfter(delayMs)
}

/** Numbers for a new instance, and of its workflow, from where they can be had. */
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
 * The number under which messages wait for an id, as seen inside: told by the answer to a message
 * that there is no room for, and that leaves no trace.
 */
async function numberOf(inside: StoreInTransaction, id: string): Promise<Iid> {
  const about = { channel: '', capacity: 0, dedupeKey: '', replyTo: '' }
  const probe: Post = messagePost(id, about, 'null', 0)
  const [answer] = await inside.post([probe])
  return answer!.iid
}
