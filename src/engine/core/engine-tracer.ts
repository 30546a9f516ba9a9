// The spans of the engine: see docs/guide/observability.md.
//
//   - An instance has one trace, in whichever processes it runs. Its context is stored with its start;
//     if it was started without tracing, it follows from the seed of its first execution.
//   - A tracing that can choose ids reports a span for each execution, with its turns and attempts below
//     it. Its id follows from what every process knows, so that none of them has to keep it open.
//   - A span about something that is committed ends after that commit, and is never repeated on replay.

import { createHash } from 'node:crypto'
import type { Logger } from '../../base/log.ts'
import { harmlessTracing, type Span, splitContext, type Tracing } from '../../base/tracing.ts'

/** What an execution began with, as far as its trace depends on it. */
export interface TraceOrigin {
  readonly seed: string
  readonly trace?: string
}

/** An execution of an instance, as far as its span depends on it. */
export interface TracedExecution {
  readonly id: string
  readonly execution: number
  readonly started: TraceOrigin
}

/** An instance whose spans are reported. */
export interface TracedInstance extends TracedExecution {
  readonly definition: { readonly name: string; readonly version: string }
}

/** An attempt at an activity or a step. */
export interface TracedAttempt {
  readonly instanceId: string
  readonly workflow: string
  readonly execution: number
  readonly activity: string
  readonly attempt: number
}

/** A turn that was committed. */
export interface TracedTurn {
  readonly turn: number
  /** How many events it recorded. */
  readonly events: number
  readonly startTime: number
  /** Whether its past was replayed first. */
  readonly wasReplayed: boolean
  /** The spans that sent the messages it received. */
  readonly links: readonly string[] | undefined
}

type Attributes = Record<string, string | number | boolean>

const SEED = /^[0-9a-f]{32}$/

/** Reports spans of clients and runtimes. */
export class EngineTracer {
  readonly #tracing: Tracing

  constructor(tracing: Tracing, log: Logger) {
    this.#tracing = harmlessTracing(tracing, log)
  }

  /** The context of the active span, for what is sent or started in a transaction of the user. */
  active(): string | undefined {
    return this.#tracing.active()
  }

  /** The context that the spans of an execution are below; `null` if it has no trace. */
  contextOf(execution: TracedExecution): string | null {
    const { seed, trace = '' } = execution.started
    if (!this.#tracing.choosesIds) {
      if (trace !== '') return trace
      return SEED.test(seed) ? `00-${seed}-${seed.slice(0, 16)}-01` : null
    }
    if (trace === '') return SEED.test(seed) ? `00-${seed}-${spanIdOf(execution)}-01` : null
    const [traceparent, tracestate] = splitContext(trace)
    const [version, traceId, , flags] = traceparent.split('-')
    const own = `${version}-${traceId}-${spanIdOf(execution)}-${flags}`
    return tracestate === '' ? own : `${own} ${tracestate}`
  }

  /**
   * An instance is about to be started: by the active span, or by another instance. End it once the start
   * is committed.
   */
  starting(workflow: string, instanceId: string, by?: TracedExecution): Span {
    return this.#producer(`start ${workflow}`, by, {
      'holdfast.workflow': workflow,
      'holdfast.instance.id': instanceId,
    })
  }

  /** A message is about to be sent to an instance, as by `starting`. End it once it is stored. */
  sending(channel: string, instanceId: string, by?: TracedExecution): Span {
    return this.#producer(`send ${channel}`, by, {
      'holdfast.channel': channel,
      'holdfast.instance.id': instanceId,
    })
  }

  /** A turn is committed. */
  turn(
    instance: TracedInstance,
    { turn, events, startTime, wasReplayed, links }: TracedTurn,
  ): void {
    const attributes = {
      'holdfast.turn': turn,
      'holdfast.turn.events': events,
      'holdfast.turn.replayed': wasReplayed,
    }
    this.#tracing
      .start(`turn ${instance.definition.name}`, {
        kind: 'internal',
        parent: this.contextOf(instance),
        startTime,
        ...(links !== undefined && { links }),
        attributes: attributesOf(instance, attributes),
      })
      .end()
  }

  /** The end of an execution is committed. */
  ended(instance: TracedInstance, status: string, startTime: number, error?: unknown): void {
    this.#tracing
      .start(`workflow ${instance.definition.name}`, {
        kind: 'internal',
        ...this.#placeOf(instance),
        startTime,
        attributes: attributesOf(instance, { 'holdfast.status': status }),
      })
      .end({ error })
  }

  /** An instance is suspended. */
  suspended(instance: TracedInstance, error: unknown): void {
    this.#tracing
      .start(`suspend ${instance.definition.name}`, {
        kind: 'internal',
        parent: this.contextOf(instance),
        attributes: attributesOf(instance, {}),
      })
      .end({ error })
  }

  /** An attempt begins; `started` is that of its instance, if it is known. */
  attempt(kind: 'activity' | 'step', made: TracedAttempt, started: TraceOrigin | undefined): Span {
    const { instanceId: id, execution } = made
    return this.#tracing.start(`${kind} ${made.activity}`, {
      kind: kind === 'step' ? 'internal' : 'consumer',
      parent: started === undefined ? null : this.contextOf({ id, execution, started }),
      attributes: {
        'holdfast.instance.id': id,
        'holdfast.workflow': made.workflow,
        'holdfast.execution': execution,
        'holdfast.activity': made.activity,
        'holdfast.attempt': made.attempt,
      },
    })
  }

  #producer(name: string, by: TracedExecution | undefined, attributes: Attributes): Span {
    return this.#tracing.start(name, {
      kind: 'producer',
      ...(by !== undefined && { parent: this.contextOf(by) }),
      attributes,
    })
  }

  /** Where the span of an execution is: at the id that all others are below, if that can be chosen. */
  #placeOf(execution: TracedExecution) {
    if (!this.#tracing.choosesIds) return { parent: this.contextOf(execution) }
    const { seed, trace = '' } = execution.started
    const spanId = spanIdOf(execution)
    if (trace !== '') return { parent: trace, ids: { spanId } }
    return { parent: null, ids: { spanId, ...(SEED.test(seed) && { traceId: seed }) } }
  }
}

/** The id of the span of an execution. A fork shares seed and trace with its origin, but not its id. */
function spanIdOf({ id, execution, started: { seed, trace = '' } }: TracedExecution): string {
  const hash = createHash('sha256').update(`${trace === '' ? seed : trace}\n${execution}\n${id}`)
  return hash.digest('hex').slice(0, 16)
}

function attributesOf(instance: TracedInstance, attributes: Attributes): Attributes {
  const { id, definition, execution } = instance
  return {
    'holdfast.instance.id': id,
    'holdfast.workflow': definition.name,
    'holdfast.version': definition.version,
    'holdfast.execution': execution,
    ...attributes,
  }
}
