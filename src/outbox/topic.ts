import { describe } from '../base/describe.ts'
import { number, option, resolveOptions } from '../base/options.ts'
import { checkSchema, type Schema } from '../base/schema.ts'

/** A named stream of messages. Producers pass `In`, handlers receive `Out`. */
export interface Topic<In, Out = In> {
  readonly name: string
  /** How many partitions it has. Messages of one partition are delivered in order. */
  readonly partitions: number
  readonly '~types'?: (input: In) => Out
}

/** Options of `topic`. */
export interface TopicOptions<In, Out> {
  /** Validates messages when they are enqueued: any Standard Schema. */
  schema?: Schema<In, Out>
  /**
   * How many partitions the topic has, from 1 to 1024. Messages with the same key are in the same
   * partition. The number cannot be changed once the topic is in use.
   *
   * @default 16
   */
  partitions?: number
}

/** A topic as the outbox uses it. */
export interface TopicDefinition {
  readonly name: string
  readonly partitions: number
  readonly schema: Schema<never, unknown> | undefined
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/
const MAX_NAME = 1_024
const MAX_PARTITIONS = 1_024

const definitions = new WeakMap<object, TopicDefinition>()

/** Defines a topic: a constant that producers and handlers share. */
export function topic<Out, In = Out>(
  name: string,
  options?: TopicOptions<In, Out>,
): Topic<In, Out> {
  if (typeof name !== 'string' || !NAME.test(name) || name.length > MAX_NAME) {
    throw new TypeError(
      `topic: name must have 1 to ${MAX_NAME} letters, digits, dots, dashes or underscores, and begin ` +
        `and end with a letter or digit, got ${describe(name)}`,
    )
  }
  const { schema, partitions } = resolveOptions(`topic "${name}"`, options, {
    schema: option(checkSchema, undefined),
    partitions: number({ min: 1, max: MAX_PARTITIONS, integer: true }, 16),
  })
  const defined: Topic<In, Out> = Object.freeze({ name, partitions })
  definitions.set(defined, { name, partitions, schema: schema as TopicDefinition['schema'] })
  return defined
}

/** The definition of a topic. Throws a `TypeError` for anything that `topic` did not make. */
export function definitionOf(owner: string, value: unknown): TopicDefinition {
  const found = typeof value === 'object' && value !== null ? definitions.get(value) : undefined
  if (found !== undefined) return found
  throw new TypeError(`${owner}: needs a topic, made by topic(), got ${describe(value)}`)
}
