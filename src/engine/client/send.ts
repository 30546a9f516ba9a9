import type { Abortable } from '../../base/sync/on-abort.ts'
import { option, resolveOptions } from '../../base/options.ts'
import type { Post, PostAnswer } from '../../store/inbox.ts'
import type { Iid } from '../../store/instances.ts'
import { channelFull } from '../core/channel-full.ts'
import { tracedPayload } from '../core/message-trace.ts'
import { stillLocked } from '../core/posts.ts'
import { type ChannelDefinition, definitionOf } from '../define/channels.ts'
import { checkId } from '../define/names.ts'
import { type ChannelFullError, ConflictError } from '../core/errors.ts'
import { parse } from '../../base/schema.ts'
import { type ClientCore, type Past, removedInstance } from './client-core.ts'
import type { SendOptions } from '../define/instance.ts'

/** The table of `SendOptions`, for `resolveOptions`. */
export const SEND_OPTIONS = { dedupeKey: option(checkId, '') }

/** A message to send. */
export interface Message {
  readonly channel: string
  readonly capacity: number
  /** Validates and encodes the data. */
  readonly payload: () => Promise<string>
  readonly dedupeKey: string
  /** Where the reply to a request goes; empty for a message. */
  readonly replyTo: string
}

/** Sends a message. Resolves once it is stored. */
export async function send(
  core: ClientCore,
  id: string,
  channel: unknown,
  data: unknown,
  options: SendOptions | undefined,
): Promise<void> {
  const definition = definitionOf('send', 'channel', channel)
  const { dedupeKey } = resolveOptions('send', options, SEND_OPTIONS)
  await deliver(core, 'send', id, {
    channel: definition.name,
    capacity: definition.capacity,
    payload: () => encodeMessage(core, id, definition, data),
    dedupeKey,
    replyTo: '',
  })
}

/** Parses a message with the schema of its channel and encodes it. */
export async function encodeMessage(
  { setup }: ClientCore,
  id: string,
  { name, schema }: ChannelDefinition,
  data: unknown,
): Promise<string> {
  const what = `channel "${name}": the message`
  const parsed = await parse(schema, data, what)
  return setup.values.encode(parsed, what, 'messageBytes', () => ({ instanceId: id }))
}

/** Posts a message. Throws when the instance cannot receive it. */
export async function deliver(
  core: ClientCore,
  verb: string,
  id: string,
  message: Message,
): Promise<PostAnswer> {
  const answer = await post(core, id, message)
  switch (answer.verdict) {
    case 'sent':
    case 'duplicate':
      return answer
    case 'full':
      throw await full(core, verb, id, message)
    case 'ended':
    case 'unknown':
      throw await gone(core, verb, id)
    case 'locked':
    case 'untried':
      throw stillLocked(verb, id)
  }
}

/** Posts a message and returns the store's answer. */
export async function post(
  core: ClientCore,
  id: string,
  message: Message,
  signal?: Abortable,
): Promise<PostAnswer> {
  const span = core.setup.tracer?.sending(message.channel, id)
  const prepare = async (): Promise<Post> => {
    await core.open()
    const payload = tracedPayload(await message.payload(), span?.context)
    return messagePost(id, message, payload, await core.iids.take())
  }
  const answer = await core.posts.post(id, prepare, signal)
  if (answer.verdict === 'sent' || answer.verdict === 'duplicate') span?.end()
  return answer
}

/** A message as the store takes it. */
export function messagePost(
  id: string,
  { channel, capacity, dedupeKey, replyTo }: Omit<Message, 'payload'>,
  payload: string,
  iid: Iid,
): Post {
  // A message and a request may have the same key.
  const kind = replyTo === '' ? 'message' : 'request'
  const key = dedupeKey === '' ? '' : `${kind} ${keyIn(channel, dedupeKey)}`
  return { id, kind: 'message', name: channel, payload, replyTo, dedupeKey: key, capacity, iid }
}

/** A key that is unique across channels, whatever characters names and keys contain. */
export function keyIn(channel: string, dedupeKey: string): string {
  return `${channel.length} ${channel} ${dedupeKey}`
}

/** The error for a full channel. */
export async function full(
  past: Past,
  verb: string,
  id: string,
  { channel, capacity }: Pick<Message, 'channel' | 'capacity'>,
): Promise<ChannelFullError> {
  return channelFull(verb, { id, channel, capacity }, await past.find(id))
}

/** The error for an instance that has ended or was removed. */
export async function gone(past: Past, verb: string, id: string): Promise<Error> {
  const row = await past.find(id)
  if (row === undefined) return removedInstance(verb, id)
  return new ConflictError(`${verb}: instance "${id}" has ended (${row.status})`, id)
}
