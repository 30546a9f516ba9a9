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
import { Standstill } from './standstill.ts'
import { full, gone, keyIn, type Message, post, SEND_OPTIONS } from './send.ts'
import { lookUntil, WAIT_OPTIONS } from './wait.ts'

/** Sends a request and waits for its answer. */
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
    payload: async () => values.encode(input, what),
    dedupeKey,
    // Sent again under its key, a request leads to where the first one is answered.
    replyTo: dedupeKey === '' ? core.newId() : keyIn(name, dedupeKey),
  }
  const standstill = new Standstill(core, id)
  const stopLooking = standstill.lookWithin(wait)
  const waited = core.waits.within(
    `request "${name}": the answer of instance "${id}"`,
    wait,
    async (signal) => {
      signal.throwIfAborted()
      const { verdict, iid } = await post(core, id, message, signal)
      switch (verdict) {
        case 'sent':
        case 'duplicate': {
          const address = replyAddress(iid, message.replyTo)
          return answer(core, { id, iid, name, address }, signal)
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
  )
  const reply = await waited
    .catch((error: unknown) => {
      throw standstill.explain(error)
    })
    .finally(stopLooking)
  return decodeReply(reply, values)
}

/** A request that was sent. */
interface Asked {
  readonly id: string
  readonly iid: Iid
  readonly name: string
  readonly address: string
}

async function answer(core: ClientCore, asked: Asked, signal: Abortable): Promise<string> {
  const { clock, runtime } = core.setup
  const news = new PermitNotify()
  const told = (): void => news.notifyOne()
  const stops = [
    runtime?.endings.wait(asked.iid, told),
    runtime?.replied?.wait(asked.address, told),
  ]
  let stopElsewhere: (() => void) | undefined
  const look = (): Promise<string | undefined> => {
    // Said before the look, so that no answer is missed between the two.
    if (runtime?.owns(asked.iid) !== true) {
      stopElsewhere ??= core.elsewhere.wait(asked.iid, told)
    }
    return lookForReply(core, asked)
  }
  const isHintedAt = (): boolean => core.elsewhere.areTold
  try {
    return await lookUntil(clock, { look, news, isHintedAt }, signal)
  } finally {
    for (const stop of [...stops, stopElsewhere]) stop?.()
  }
}

async function lookForReply(core: ClientCore, asked: Asked): Promise<string | undefined> {
  const { id, name, address } = asked
  const reply = await core.reply(address)
  if (reply !== undefined) return reply
  const row = await core.look(asked)
  if (row !== undefined && !hasEnded(row)) return undefined
  // It may have answered between the two looks, and then ended.
  const last = await core.reply(address)
  if (last !== undefined) return last
  if (row === undefined) throw removedInstance('request', id)
  const { status, workflow } = row
  throw new WorkflowError(
    `request: instance "${id}" ended (${status}) without answering "${name}"`,
    { instanceId: id, workflow: workflow.name, originalName: 'UnansweredError' },
  )
}
