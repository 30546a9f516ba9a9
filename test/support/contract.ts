// What the tests of the contract's behaviours share. They are many and short, so those of one file
// share a place on each store; each opens the runtimes it needs in it.
//
// Workflows of one file have names of their own: what a test leaves behind is of no interest to
// the runtimes of the next.

import { afterAll, afterEach, beforeAll } from 'vitest'

import type { Client, Instance, OpenOptions, Runtime } from '../../src/index.ts'
import {
  describeOnStores,
  eventually,
  openSpace,
  type Space,
  type StoreKind,
  STORES,
} from './engine.ts'
import type { MemoryLog } from './workers.ts'

/** A place on one store, shared by the tests of a file. */
export interface Place {
  readonly kind: StoreKind
  /** What its runtimes wrote since the test began. */
  readonly log: MemoryLog
  /** Opens a runtime; it is closed when the test ends. */
  open(register: OpenOptions['register'], options?: Partial<OpenOptions>): Promise<Runtime>
  /** A client that runs nothing. */
  connect(): Client
}

/** Runs a suite once per store, in one place each. */
export function describeInPlaces(
  name: string,
  suite: (place: Place) => void,
  stores: readonly StoreKind[] = STORES,
): void {
  const onStore = (kind: StoreKind): void => {
    let space: Space
    const opened: Runtime[] = []
    beforeAll(async () => {
      space = await openSpace(kind)
    })
    afterEach(async () => {
      for (const runtime of opened.splice(0)) await runtime.close({ drain: 0 })
      space.log.lines.length = 0
    })
    afterAll(() => space[Symbol.asyncDispose]())

    suite({
      kind,
      get log() {
        return space.log
      },
      async open(register, options) {
        const runtime = await space.open(register, options)
        opened.push(runtime)
        return runtime
      },
      connect: () => space.connect(),
    })
  }
  describeOnStores(name, onStore, stores)
}

/** Fails once and for all: nothing is gained by waiting for a second attempt. */
export const ONCE = { retry: { maxAttempts: 1 } } as const

/** Waits until an instance waits for something that is described with these words. */
export async function untilItWaitsFor(instance: Instance, words: string): Promise<void> {
  await eventually(async () =>
    (await instance.info())?.waitingFor.some((text) => text.includes(words)),
  )
}

/** Waits until an instance is suspended, and returns why. */
export async function reportOf(instance: Instance): Promise<{ name: string; message: string }> {
  const info = await eventually(async () => {
    const now = await instance.info()
    return now?.status === 'suspended' && now
  })
  return info.error!
}

/** What a promise is rejected with. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('it was not rejected')
}

/** Waits for the end of an instance, whatever it is, and says how it ended. */
export async function statusOf(instance: Instance): Promise<string> {
  await instance.result().catch(() => {})
  return (await instance.info())!.status
}
