// What is run under faults: workflows with activities, timers, children and a channel, and a ledger of
// what their activities did.

import { expect } from 'vitest'

import {
  activity,
  channel,
  type Client,
  ConflictError,
  type Instance,
  type Registrable,
  type Runtime,
  StoreError,
  workflow,
} from '../../src/index.ts'

/** What a voyage waits for. */
export const go = channel<string>('go')

/** Workflows of one test, with a ledger of how often each of their activities ran. */
export interface Voyages {
  readonly register: Registrable
  /** Called when an activity begins. */
  onRun: (what: string) => void
  /** Starts voyages, sends each what it waits for, and waits for their ends. */
  readonly sail: (client: Client, ids: readonly string[]) => Promise<void>
  /** Starts one, and sends nothing. */
  readonly embark: (client: Client, id: string) => Promise<Instance<string[]>>
  /** All of them ended once, and nothing was done twice. */
  readonly check: (client: Client, ids: readonly string[]) => Promise<void>
}

export function voyages(): Voyages {
  const runs = new Map<string, number>()
  const note = activity('note', async (what: string) => {
    runs.set(what, (runs.get(what) ?? 0) + 1)
    made.onRun(what)
    return what
  })
  const leg = workflow('leg', async (id: string, ctx) => {
    await ctx.sleep(20)
    return ctx.run(note, `${id} leg`)
  })
  const voyage = workflow('voyage', async (id: string, ctx) => {
    const first = await ctx.run(note, `${id} first`)
    await ctx.sleep(20)
    const child = await ctx.run(leg, id)
    const word = await ctx.receive(go)
    return [first, child, word, await ctx.run(note, `${id} last`)]
  })
  const embark = (client: Client, id: string): Promise<Instance<string[]>> =>
    persist(() => client.start(voyage, id, { id }))
  const made: Voyages = {
    register: [voyage, leg],
    onRun: () => {},
    embark,
    async sail(client, ids) {
      await Promise.all(
        ids.map(async (id) => {
          const instance = await embark(client, id)
          await persist(() => sendOnce(instance))
          const result = await persist(() => instance.result({ timeout: '50s' }))
          expect(result).toEqual([`${id} first`, `${id} leg`, 'go', `${id} last`])
        }),
      )
    },
    async check(client, ids) {
      for (const id of ids) {
        expect(await ends(client, id)).toEqual(['ended'])
        for (const part of ['first', 'leg', 'last']) {
          expect([id, part, runs.get(`${id} ${part}`)]).toEqual([id, part, 1])
        }
      }
      expect(runs.size).toBe(ids.length * 3)
    },
  }
  return made
}

/**
 * Sends what a voyage waits for. If the answer is lost, and the voyage ends before it is sent
 * again, the sender learns that it has ended; its result says whether it got the message.
 */
async function sendOnce(instance: Instance): Promise<void> {
  try {
    await instance.send(go, 'go', { dedupeKey: 'go' })
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
  }
}

let named = 0

/** Names for this many voyages, which no others in this file have. */
export function names(count: number): string[] {
  return Array.from({ length: count }, () => `v${++named}`)
}

/** Loops of a runtime that have ended: none, as long as it is open. */
export function stoppedLoops(runtime: Runtime): readonly string[] {
  return runtime
    .health()
    .workers.filter(({ state }) => state === 'dead' || state === 'stopped')
    .map(({ name }) => name)
}

/** A call that a store could not answer is made again, as a caller would do after the error. */
export async function persist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof StoreError && error.retryable)) throw error
    }
  }
}

/** The ends that the history of a voyage has. */
export async function ends(client: Client, id: string): Promise<string[]> {
  const found: string[] = []
  for await (const { type } of client.get(id).history()) if (type === 'ended') found.push(type)
  return found
}
