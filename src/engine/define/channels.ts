// What goes in and out of a running instance, as module constants: channels and requests it
// receives from, and keys of the state it keeps. Senders, workflow code and tests share them.

import { describe } from '../../base/describe.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import type { types } from './definitions.ts'
import { checkName } from './names.ts'
import { checkSchema, type Schema } from './schema.ts'

/** Where an instance gets messages, in the order they came: `In` is sent, `Out` is received. */
export interface Channel<In, Out = In> {
  readonly kind: 'channel'
  readonly name: string
  readonly [types]?: (input: In) => Out
}

/** Where an instance is asked: `In` is the question, `Reply` is what the one who asks gets. */
export interface RequestChannel<In, Reply> {
  readonly kind: 'request'
  readonly name: string
  readonly [types]?: (input: In) => Reply
}

/** A value that an instance keeps by name. */
export interface StateKey<T> {
  readonly kind: 'state'
  readonly name: string
  readonly [types]?: (value: T) => T
}

/** Whatever a workflow can receive from. */
export type AnyInbound = Channel<never, unknown> | RequestChannel<never, unknown>

/** Options of a channel. */
export interface ChannelOptions<In, Out> {
  /** Checks and parses each message where it is sent, never again. */
  schema?: Schema<In, Out>
  /**
   * How many messages may wait in one instance. Whoever sends one more is refused: nothing is
   * dropped. More cost rows in the database, and memory when the instance is loaded.
   *
   * @default 10_000
   */
  capacity?: number
}

/** A message for the start of an instance; `message` makes it. */
export interface Letter {
  readonly channel: string
  readonly data: unknown
}

/** A channel with what the engine needs of it. */
export interface ChannelDefinition extends Channel<never, unknown> {
  readonly schema: Schema<never, unknown> | undefined
  readonly capacity: number
}

/** A request with what the engine needs of it. */
export interface RequestDefinition extends RequestChannel<never, unknown> {}

/** A key of state with what the engine needs of it. */
export interface StateKeyDefinition extends StateKey<never> {}

/** How many messages may wait where nobody says otherwise. */
export const DEFAULT_CAPACITY = 10_000

/**
 * Defines a channel. Messages wait in it until the workflow asks for them, however early they come
 * (even before the instance is started), and from one execution to the next.
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

/** Defines a request: whoever sends it waits until the workflow replies. */
export function request<In, Reply>(name: string): RequestChannel<In, Reply> {
  checkName('request', name)
  return { kind: 'request', name }
}

/** Defines the name and the type of a value that instances keep. */
export function stateKey<T>(name: string): StateKey<T> {
  checkName('stateKey', name)
  return { kind: 'state', name }
}

// Shared by all copies of this module (ESM and CommonJS), so that each knows the letters of the other.
const CHANNEL = Symbol.for('holdfast.letter.channel')

/** A message that is in the channel from the start: for `start(…, { send })`. */
export function message<In>(to: Channel<In, unknown>, data: NoInfer<In>): Letter {
  const definition = definitionOf('message', 'channel', to)
  const letter: Letter = { channel: definition.name, data }
  // The schema is needed where the letter is sent, but is none of its data.
  return Object.defineProperty(letter, CHANNEL, { value: definition })
}

/** The channel a letter was made for; refuses what `message` did not make. */
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

/** The engine's view of a definition; refuses whatever is of another kind. */
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
