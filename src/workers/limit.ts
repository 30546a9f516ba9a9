import { describe } from '../base/describe.ts'
import { FairSemaphore, type Semaphore } from '../base/sync/semaphore.ts'
import { unknownName } from '../base/options.ts'
import type { Place } from '../base/sync/waiters.ts'
import type { Applicant } from '../base/sync/semaphore.ts'

/**
 * A limit on what runs at once, shared by the workers it is given to.
 *
 * The tiered form takes shared permits first and guaranteed ones when those are out: workers that
 * matter use up what others leave, and still run when others use everything.
 */
export type Limit =
  | { readonly fixed: Semaphore }
  | { readonly guaranteed: Semaphore; readonly shared: Semaphore }

/** The semaphores of a limit, in the order they are tried. */
export type Gates = readonly FairSemaphore[]

/** Turns a given limit into its gates; `what` begins the error message. */
export function resolveLimit(given: unknown, what: string): Gates {
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(
      `${what} must be { fixed } or { guaranteed, shared }, got ${describe(given)}`,
    )
  }
  const values = given as Record<string, unknown>
  const names = 'fixed' in values ? ['fixed'] : ['shared', 'guaranteed']
  for (const name of Object.keys(values)) {
    if (!names.includes(name)) throw unknownName(what, 'part', name, names)
  }
  return names.map((name) => {
    const gate = values[name]
    if (gate instanceof FairSemaphore) return gate
    throw new TypeError(`${what}.${name} must be made by semaphore(), got ${describe(gate)}`)
  })
}

/** A wait for a permit that can be given up. */
export interface Application {
  /** The permit, or `undefined` when refused. */
  readonly outcome: Promise<Disposable | undefined>
  /** Gives up: the outcome becomes `undefined`. */
  withdraw(): void
}

/** A permit that is free right now, from the first gate that has one. */
export function tryEnter(gates: Gates): Disposable | undefined {
  for (const gate of gates) {
    const permit = gate.tryAcquire()
    if (permit !== undefined) return permit
  }
  return undefined
}

/** Gets in line at every gate; refused when all of them are closed. */
export function apply(gates: Gates): Application {
  const places: [FairSemaphore, Place<Applicant>][] = []
  let open = gates.length
  let settle!: (permit: Disposable | undefined) => void
  const outcome = new Promise<Disposable | undefined>((resolve) => (settle = resolve))
  const finish = (permit: Disposable | undefined): void => {
    for (const [gate, place] of places) gate.leave(place)
    settle(permit)
  }
  const applicant: Applicant = {
    grant: finish,
    refuse: () => {
      if (--open === 0) finish(undefined)
    },
  }
  for (const gate of gates) {
    if (gate.closed) applicant.refuse(gate)
    else places.push([gate, gate.join(applicant)])
  }
  return { outcome, withdraw: () => finish(undefined) }
}
