import { durationMs, type Duration } from '../../base/time/duration.ts'
import { definitionOf, type StateKey } from '../define/channels.ts'
import { type KeptValue, readKeptState, writeKeptState } from '../core/kept-state.ts'
import { isClose, type LimitKeys } from '../core/limits.ts'
import { instanceKeys } from '../core/log-keys.ts'
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
  readonly #keys: LimitKeys = () => instanceKeys(this.#instance)
  readonly #kept: Map<string, KeptValue>
  /** All values together; counted when first needed. */
  #bytes: number | undefined

  constructor({ instance, host }: { readonly instance: LiveInstance; readonly host: ContextHost }) {
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
    const { values, guard } = this.#host
    const label = `ctx.state.set "${name}": the value`
    const text = values.encode(value, label)
    const bytes = this.#bytesWith(name, text)
    this.#instance.run.passOut(
      () => guard.excess(text, label, 'stateValueBytes', this.#keys) ?? this.#excess(name, bytes),
    )
    this.#bytes = bytes
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
    this.#bytes = 0
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

  /** The size of all values, once this one is among them. */
  #bytesWith(name: string, text: string): number {
    this.#bytes ??= [...this.#kept.values()].reduce((sum, kept) => sum + sizeOf(kept.value), 0)
    const before = this.#kept.get(name)
    return this.#bytes + sizeOf(text) - (before === undefined ? 0 : sizeOf(before.value))
  }

  /** What is wrong with the state once this key is set, and has so many bytes. */
  #excess(name: string, bytes: number): string | undefined {
    const { guard } = this.#host
    const { stateKeys, stateBytes } = guard.limits
    const { definition } = this.#instance
    const keys = this.#kept.size + (this.#kept.has(name) ? 0 : 1)
    const set = `ctx.state.set "${name}"`
    if (keys > stateKeys) {
      return `${set}: the instance already has ${stateKeys} keys, the limit; delete some, or raise limits.stateKeys`
    }
    if (bytes > stateBytes) {
      return `${set}: all state would have ${bytes} bytes, over the limit of ${stateBytes}; store large data elsewhere and keep a reference, or raise limits.stateBytes`
    }
    if (isClose(keys, stateKeys) || isClose(bytes, stateBytes)) {
      const about = { ...this.#keys(), keys, stateKeys, bytes, stateBytes }
      const kind = `state of workflow "${definition.name}"`
      guard.warn(kind, about, `the ${kind} is close to its limit`)
    }
    return undefined
  }

  #delete(name: string): void {
    const before = this.#isOver ? undefined : this.#kept.get(name)
    if (before === undefined) return
    this.#kept.delete(name)
    if (this.#bytes !== undefined) this.#bytes -= sizeOf(before.value)
    this.#instance.run.note({ type: 'unset', key: name })
  }
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text)
}

function nameOf(verb: string, key: unknown): string {
  return definitionOf(`ctx.state.${verb}`, 'state', key).name
}
