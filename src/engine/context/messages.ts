import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { resolveOptions } from '../../base/options.ts'
import { encodeReply } from '../core/replies.ts'
import { type ChannelDefinition, definitionOf } from '../define/channels.ts'
import { checkId } from '../define/names.ts'
import { cancellable, type CommandPromise, seen } from '../replay/command-promise.ts'
import type { ReceivedMessage } from '../replay/execution.ts'
import type { Scope } from '../replay/scope.ts'
import type { Frame } from './frame.ts'
import { momentAfter } from '../core/moments.ts'
import type { Asked, DurablePromise, Remote } from '../define/workflow-context.ts'

/** What the runtime needs to carry out a `send` command. */
export interface SendWork {
  readonly channel: ChannelDefinition
  /** Encoded; the schema of the channel validates it when it is sent. */
  readonly value: string
}

/** Waits for a message of a channel, or for a request. */
export function receive(
  frame: Frame,
  scope: Scope,
  from: unknown,
  given: { timeout?: Duration } | undefined,
): CommandPromise {
  const { run } = frame.instance
  const { kind, name } = inbound(from)
  const { timeout } = resolveOptions('ctx.receive', given, { timeout: duration(undefined) })
  // 0 means never: no turn happens at the beginning of 1970.
  const until = timeout === undefined ? 0 : momentAfter(run.at, timeout)
  const promise = frame.give(scope, { type: 'receive', command: 0, name, until }, undefined)
  return mapped(promise, (received) => {
    if (received === undefined) return undefined
    const message = received as ReceivedMessage
    return kind === 'request' ? requestOf(frame, message) : message.value
  })
}

function inbound(from: unknown): { readonly kind: string; readonly name: string } {
  const { kind, name } = (from ?? {}) as { kind?: unknown; name?: unknown }
  if ((kind === 'channel' || kind === 'request') && typeof name === 'string') return { kind, name }
  throw new TypeError(`ctx.receive: needs a channel or a request, got ${describe(from)}`)
}

function requestOf(frame: Frame, { value, replyTo }: ReceivedMessage): Asked<unknown, unknown> {
  const { values } = frame.host
  let answered = false
  const answer = (ok: boolean, text: string): void => {
    if (answered) throw new Error('this request is already answered: call reply or reject once')
    answered = true
    // It was sent by `send`, so no sender waits for a reply.
    if (replyTo === '') return
    frame.instance.run.note({ type: 'replied', to: replyTo, ok, value: encodeReply(ok, text) })
  }
  return {
    input: value,
    reply: (reply) => answer(true, frame.encode(reply, 'reply: the value', 'messageBytes')),
    reject: (error) => answer(false, values.encodeError(error)),
  }
}

/** Creates a handle to another instance. */
export function remote(frame: Frame, scope: Scope, id: string): Remote {
  checkId(id, 'ctx.get: id')
  return {
    id,
    send(to, data) {
      const channel = definitionOf('send', 'channel', to)
      const { name, capacity } = channel
      const value = frame.encode(data, `send: message for channel "${name}"`, 'messageBytes')
      const work: SendWork = { channel, value }
      const command = { type: 'send', command: 0, id, name, capacity, value } as const
      return frame.give(scope, command, work) as DurablePromise<void>
    },
    readState(key) {
      const { name } = definitionOf('readState', 'state', key)
      const command = { type: 'read', command: 0, id, key: name } as const
      return frame.give(scope, command, undefined) as Promise<unknown> as DurablePromise<never>
    },
  }
}

/** Maps the result of a command. Cancelling the new promise cancels the command. */
export function mapped(promise: CommandPromise, map: (value: unknown) => unknown): CommandPromise {
  return cancellable(seen(promise.then(map)), (reason) => promise.cancel(reason))
}
