import type { Abortable } from '../../base/sync/on-abort.ts'
import { PermitNotify } from '../../base/sync/notify.ts'
import { resolveOptions } from '../../base/options.ts'
import type { Iid } from '../../store/instances.ts'
import { DEFAULT_CAPACITY, definitionOf } from '../define/channels.ts'
import { WorkflowError } from '../core/errors.ts'
import { stillLocked } from '../core/posts.ts'
import { decodeReply, replyAddress } from '../core/replies.ts'
import { type ClientCore, hasEnded, removedInstance } from './client-core.ts'
import type { SendOptions, Wait } from '../define/instance.ts'
import { WaitExplainer } from './wait-explainer.ts'
import { full, gone, keyIn, type Message, post, SEND_OPTIONS } from './send.ts'
import { pollUntil, WAIT_OPTIONS } from './poll.ts'

/** Sends a request and waits for its reply. */
export async function request(
  core: ClientCore,
  id: string,
  channel: unknown,
  input: unknown,
  options: (Wait & SendOptions) | undefined,
): Promise<unknown> {
  const { name } = definitionOf('request', 'request', channel)
  const { dedupeKey, ...wait } = resolveOptions('request', options, {
    ...SEND_OPTIONS,
    ...WAIT_OPTIONS,
  })
  const { values } = core.setup
  const what = `request "${name}": its input`
  const message: Message = {
    channel: name,
    capacity: DEFAULT_CAPACITY,
    payload: async () => values.encode(input, what, 'messageBytes', () => ({ instanceId: id })),
    dedupeKey,
    // A retry with the same key gets the reply to the first request.
    replyTo: dedupeKey === '' ? core.newId() : keyIn(name, dedupeKey),
  }
  const explainer = new WaitExplainer(core, id)
  const stopLooking = explainer.watchDuring(wait)
  const waited = core.waits.within(
    `request "${name}": the reply of instance "${id}"`,
    wait,
    async (signal) => {
      signal.throwIfAborted()
      const { verdict, iid } = await post(core, id, message, signal)
      switch (verdict) {
        case 'sent':
        case 'duplicate': {
          const address = replyAddress(iid, message.replyTo)
          return awaitReply(core, { id, iid, name, address }, signal)
        }
        case 'full':
          throw await full(core, 'request', id, message)
        case 'ended':
        case 'unknown':
          throw await gone(core, 'request', id)
        case 'locked':
        case 'untried':
          throw stillLocked('request', id)
      }
    },
    id,
  )
  const reply = await waited
    .catch(async (error: unknown) => {
      throw await explainer.explain(error)
    })
    .finally(stopLooking)
  return decodeReply(reply, values)
}

/** A request that is stored. */
interface SentRequest {
  readonly id: string
  readonly iid: Iid
  readonly name: string
  readonly address: string
}

async function awaitReply(core: ClientCore, sent: SentRequest, signal: Abortable): Promise<string> {
  const { clock, runtime } = core.setup
  const wakeUp = new PermitNotify()
  const wake = (): void => wakeUp.notifyOne()
  const stops = [
    runtime?.endings.subscribe(sent.iid, wake),
    runtime?.replied?.subscribe(sent.address, wake),
  ]
  let stopRemote: (() => void) | undefined
  const look = (): Promise<string | undefined> => {
    // Subscribed before the poll, so that no reply is missed in between.
    if (runtime?.owns(sent.iid) !== true) {
      stopRemote ??= core.changes.subscribe(sent.iid, wake)
    }
    return findReply(core, sent)
  }
  const isHinted = (): boolean => core.changes.isLive
  try {
    return await pollUntil(clock, { look, wakeUp, isHinted }, signal)
  } finally {
    for (const stop of [...stops, stopRemote]) stop?.()
  }
}

async function findReply(core: ClientCore, sent: SentRequest): Promise<string | undefined> {
  const { id, name, address } = sent
  const reply = await core.reply(address)
  if (reply !== undefined) return reply
  const row = await core.look(sent)
  if (row !== undefined && !hasEnded(row)) return undefined
  // It may have replied between the two reads, and then ended.
  const last = await core.reply(address)
  if (last !== undefined) return last
  if (row === undefined) throw removedInstance('request', id)
  const { status, workflow } = row
  throw new WorkflowError(
    `request: instance "${id}" ended (${status}) without replying to "${name}"`,
    { instanceId: id, workflow: workflow.name, originalName: 'UnansweredError' },
  )
}
