// Typed names for what goes into and out of a running instance: channels, requests and state keys.
// Define them as module constants that senders, workflow code and tests share.

import { describe } from '../../base/describe.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import type { types } from './definitions.ts'
import { checkName } from './names.ts'
import { checkSchema, type Schema } from '../../base/schema.ts'

/** A queue of messages to an instance, in order. Senders send `In`, workflow code receives `Out`. */
export interface Channel<In, Out = In> {
  readonly kind: 'channel'
  readonly name: string
  readonly [types]?: (input: In) => Out
}

/** A channel for requests to an instance: the sender sends `In` and waits for `Reply`. */
export interface RequestChannel<In, Reply> {
  readonly kind: 'request'
  readonly name: string
  readonly [types]?: (input: In) => Reply
}

/** The name and type of a value in the state of an instance. */
export interface StateKey<T> {
  readonly kind: 'state'
  readonly name: string
  readonly [types]?: (value: T) => T
}

/** Anything that `ctx.receive` accepts. */
export type AnyInbound = Channel<never, unknown> | RequestChannel<never, unknown>

/** Options of a channel. */
export interface ChannelOptions<In, Out> {
  /** Validates and parses each message when it is sent. */
  schema?: Schema<In, Out>
  /**
   * How many messages may wait for one instance. Sending one more throws a `ChannelFullError`; no
   * message is dropped. Waiting messages take rows in the database, and memory while the instance is
   * loaded.
   *
   * @default 10_000
   */
  capacity?: number
}

/** A message to send with a start. Create it with `message`. */
export interface Letter {
  readonly channel: string
  readonly data: unknown
}

/** A channel as the engine sees it. */
export interface ChannelDefinition extends Channel<never, unknown> {
  readonly schema: Schema<never, unknown> | undefined
  readonly capacity: number
}

/** A request as the engine sees it. */
export interface RequestDefinition extends RequestChannel<never, unknown> {}

/** A state key as the engine sees it. */
export interface StateKeyDefinition extends StateKey<never> {}

/** The default of `capacity`. */
export const DEFAULT_CAPACITY = 10_000

/**
 * Defines a channel. Messages wait in it until the workflow receives them, even when they arrive before
 * the instance is started, and across `continueAsNew`.
 */
export function channel<Out, In = Out>(
  name: string,
  options?: ChannelOptions<In, Out>,
): Channel<In, Out> {
  const { schema, capacity } = resolveOptions(`channel ${checkName('channel', name)}`, options, {
    schema: option(checkSchema, undefined),
    capacity: number({ min: 1, integer: true }, DEFAULT_CAPACITY),
  })
  const definition: Channel<In, Out> & Omit<ChannelDefinition, keyof Channel<In>> = {
    kind: 'channel',
    name,
    schema: schema as Schema<never, unknown> | undefined,
    capacity,
  }
  return definition
}

/** Defines a request: its sender waits until the workflow replies. */
export function request<In, Reply>(name: string): RequestChannel<In, Reply> {
  checkName('request', name)
  return { kind: 'request', name }
}

/** Defines the name and type of a value in the state of instances. */
export function stateKey<T>(name: string): StateKey<T> {
  checkName('stateKey', name)
  return { kind: 'state', name }
}

// A global symbol, so that ESM and CommonJS copies of this module accept each other's letters.
const CHANNEL = Symbol.for('holdfast.letter.channel')

/** Creates a message that the instance finds when it starts: `start(workflow, input, { send })`. */
export function message<In>(to: Channel<In, unknown>, data: NoInfer<In>): Letter {
  const definition = definitionOf('message', 'channel', to)
  const letter: Letter = { channel: definition.name, data }
  // Sending needs the channel's schema, but it is not part of the letter's data.
  return Object.defineProperty(letter, CHANNEL, { value: definition })
}

/** The channel of a letter. Throws a `TypeError` for anything that `message` did not create. */
export function channelOf(what: string, letter: unknown): ChannelDefinition {
  const found = (letter as { [CHANNEL]?: ChannelDefinition } | null | undefined)?.[CHANNEL]
  if (found !== undefined) return found
  throw new TypeError(`${what} must be made by message(channel, data), got ${describe(letter)}`)
}

interface Kinds {
  readonly channel: ChannelDefinition
  readonly request: RequestDefinition
  readonly state: StateKeyDefinition
}

const MADE_BY = {
  channel: 'a channel made by channel()',
  request: 'a request made by request()',
  state: 'a key made by stateKey()',
} as const satisfies Record<keyof Kinds, string>

/** A definition as the engine sees it. Throws a `TypeError` for a definition of another kind. */
export function definitionOf<K extends keyof Kinds>(
  what: string,
  kind: K,
  value: unknown,
): Kinds[K] {
  const found = value as { readonly kind?: unknown; readonly name?: unknown } | null | undefined
  if (found?.kind === kind) return value as Kinds[K]
  const got =
    typeof found?.kind === 'string' && typeof found.name === 'string'
      ? `${found.kind} "${found.name}"`
      : describe(value)
  throw new TypeError(`${what}: needs ${MADE_BY[kind]}, got ${got}`)
}
