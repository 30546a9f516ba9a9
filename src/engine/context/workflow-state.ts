import { durationMs, type Duration } from '../../base/time/duration.ts'
import { definitionOf, type StateKey } from '../define/channels.ts'
import { type KeptValue, readKeptState, writeKeptState } from '../core/kept-state.ts'
import type { LiveInstance } from '../instance/live-instance.ts'
import type { ContextHost } from './frame.ts'
import type { State } from '../define/workflow-context.ts'

/**
 * The state of one execution: what it began with, and the changes of its code so far.
 *
 * It ignores what the store has now, because replay has to show the code what it saw before.
 */
export class WorkflowState implements State {
  readonly #instance: LiveInstance
  readonly #host: ContextHost
  readonly #kept: Map<string, KeptValue>

  constructor(instance: LiveInstance, host: ContextHost) {
    this.#instance = instance
    this.#host = host
    this.#kept = readKeptState(instance.started.state)
  }

  get<T>(key: StateKey<T>): T | undefined {
    const kept = this.#kept.get(nameOf('get', key))
    return kept === undefined ? undefined : (this.#host.values.value(kept.value) as T)
  }

  set<T>(key: StateKey<T>, value: NoInfer<T>): void {
    const name = nameOf('set', key)
    if (this.#isOver) return
    const { values, limits } = this.#host
    const text = values.encode(value, `ctx.state.set "${name}"`)
    if (text.length > limits.valueLength) {
      throw new RangeError(
        `ctx.state.set "${name}": the encoded value must have at most ${limits.valueLength} characters, got ${text.length}`,
      )
    }
    if (!this.#kept.has(name) && this.#kept.size >= limits.stateKeys) {
      throw new RangeError(
        `ctx.state.set "${name}": the instance already has ${limits.stateKeys} keys, the limit`,
      )
    }
    this.#instance.run.note({ type: 'set', key: name, value: text })
    this.#kept.set(name, { value: text, at: this.#instance.run.at })
  }

  delete<T>(key: StateKey<T>): void {
    this.#delete(nameOf('delete', key))
  }

  clear(): void {
    if (this.#isOver) return
    this.#instance.run.note({ type: 'cleared' })
    this.#kept.clear()
  }

  keys(): readonly string[] {
    return [...this.#kept.keys()]
  }

  prune(olderThan: Duration): number {
    const before = this.#instance.run.at - durationMs(olderThan, 'ctx.state.prune: olderThan')
    const old = [...this.#kept].filter(([, { at }]) => at < before)
    for (const [name] of old) this.#delete(name)
    return old.length
  }

  /** The state as text, which the next execution begins with. */
  write(): string {
    return writeKeptState(this.#kept)
  }

  /** Whether the code has ended: changes have no effect then. */
  get #isOver(): boolean {
    return this.#instance.run.outcome !== undefined
  }

  #delete(name: string): void {
    if (this.#isOver || !this.#kept.delete(name)) return
    this.#instance.run.note({ type: 'unset', key: name })
  }
}

function nameOf(verb: string, key: unknown): string {
  return definitionOf(`ctx.state.${verb}`, 'state', key).name
}
