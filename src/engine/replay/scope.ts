// The unit of cancellation. Every command belongs to a scope, and every scope but the root to another.
//
//   - A cancelled scope takes no further commands: each rejects at once with its error.
//   - Cancelling a scope cancels the scopes inside it, except those that are shielded.
//   - A scope is cancelled once; the first error counts.

import type { CancelledError } from '../../base/errors.ts'
import type { CommandPromise } from './command-promise.ts'

const NONE: readonly number[] = []

/** A part of an execution that is cancelled as a unit. */
export class Scope {
  readonly parent: Scope | undefined
  /** Whether a cancellation from outside does not reach it. */
  readonly shielded: boolean
  /** The promise of its code. */
  promise: CommandPromise | undefined
  #commands: Set<number> | undefined
  #within: Set<Scope> | undefined
  #error: CancelledError | undefined
  #left = false
  #onCancel: ((error: CancelledError) => void) | undefined

  constructor(parent: Scope | undefined, shielded = false) {
    this.parent = parent
    this.shielded = shielded
    if (parent === undefined) return
    ;(parent.#within ??= new Set()).add(this)
    if (!shielded && parent.#error !== undefined) this.#error = parent.#error
  }

  /** The numbers of its open commands. */
  get commands(): Set<number> {
    return (this.#commands ??= new Set())
  }

  /** The numbers of the open commands in it and in the scopes inside it. */
  openCommands(): readonly number[] {
    if (this.#commands === undefined && this.#within === undefined) return NONE
    const open = [...(this.#commands ?? NONE)]
    for (const scope of this.#within ?? []) open.push(...scope.openCommands())
    return open
  }

  /** Why it takes no further commands; `undefined` while it does. */
  get error(): CancelledError | undefined {
    return this.#error
  }

  /** The outermost scope of the execution. */
  get root(): Scope {
    return this.parent?.root ?? this
  }

  /** Whether its code has ended. */
  get left(): boolean {
    return this.#left
  }

  /** Whether it is `other`, or inside it. */
  isWithin(other: Scope): boolean {
    return this === other || (this.parent?.isWithin(other) ?? false)
  }

  /** Sets the callback for its cancellation. There is at most one. */
  whenCancelled(callback: (error: CancelledError) => void): void {
    this.#onCancel = callback
    if (this.#error !== undefined) callback(this.#error)
  }

  /** Cancels it and the scopes inside it; returns the numbers of the commands to close. */
  cancel(error: CancelledError): readonly number[] {
    const closed: number[] = []
    this.#cancel(error, closed)
    return closed
  }

  #cancel(error: CancelledError, closed: number[]): void {
    if (this.#error !== undefined) return
    this.#error = error
    if (this.#commands !== undefined) closed.push(...this.#commands)
    this.#onCancel?.(error)
    for (const scope of this.#within ?? []) if (!scope.shielded) scope.#cancel(error, closed)
  }

  /** Its code has ended. */
  leave(): void {
    this.#left = true
    if (this.parent !== undefined) this.parent.#within?.delete(this)
  }
}
