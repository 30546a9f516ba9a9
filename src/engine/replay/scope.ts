// What is cancelled together. Every command belongs to a scope, every scope but the first to another.
//
//   S1. A cancelled scope takes no further commands: each is answered with its error at once.
//   S2. Cancelling reaches the scopes within, but not into one that is shielded.
//   S3. A scope is cancelled once; the first error stays.

import type { CancelledError } from '../../base/errors.ts'
import type { CommandPromise } from './command-promise.ts'

const NONE: readonly number[] = []

/** A part of an execution that is cancelled as one. */
export class Scope {
  readonly parent: Scope | undefined
  /** True: what happens outside does not cancel it. */
  readonly shielded: boolean
  /** What is waited for when its code is. */
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

  /** Open commands that were given in it, by number. */
  get commands(): Set<number> {
    return (this.#commands ??= new Set())
  }

  /** Numbers of the commands that are open in it, or in a scope within. */
  openCommands(): readonly number[] {
    if (this.#commands === undefined && this.#within === undefined) return NONE
    const open = [...(this.#commands ?? NONE)]
    for (const scope of this.#within ?? []) open.push(...scope.openCommands())
    return open
  }

  /** Why it takes no further commands, if so. */
  get error(): CancelledError | undefined {
    return this.#error
  }

  /** The scope that all of an execution lies within. */
  get root(): Scope {
    return this.parent?.root ?? this
  }

  /** Whether what ran in it has ended. */
  get left(): boolean {
    return this.#left
  }

  /** Whether it is `other`, or lies somewhere within it. */
  isWithin(other: Scope): boolean {
    return this === other || (this.parent?.isWithin(other) ?? false)
  }

  /** Calls back when it is cancelled. There is one at most. */
  whenCancelled(callback: (error: CancelledError) => void): void {
    this.#onCancel = callback
    if (this.#error !== undefined) callback(this.#error)
  }

  /** Cancels it and what is within; returns the numbers of the commands that this closes. */
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

  /** Nothing happens in it any more. */
  leave(): void {
    this.#left = true
    if (this.parent !== undefined) this.parent.#within?.delete(this)
  }
}
