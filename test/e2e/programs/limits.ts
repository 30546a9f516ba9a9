// A process that runs workflows with limits: `limits.ts <order as JSON>`. What begins and ends is noted in
// a ledger, so that a checker sees how many ran at once, in all processes.

import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as passTime } from 'node:timers/promises'
import { open, workflow } from '../../../src/index.ts'
import { storeOf, type StorePlace } from '../store-place.ts'

/** What such a process is given. */
export interface LimitsOrder {
  readonly store: StorePlace
  readonly ledger: string
  readonly leaseMs: number
}

/** What is noted of an instance. One write to a file opened for appending: the order is that of events. */
export interface Noted {
  readonly what: 'begin' | 'end'
  readonly id: string
  readonly name: string
  readonly key: string
  /** By the clock of the machine. */
  readonly at: number
}

/** All that was noted, in order. */
export function readNotes(ledger: string): Noted[] {
  const lines = readFileSync(ledger, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Noted)
}

/** At once, for each key. */
export const CONCURRENCY = 2
export const RATE = { count: 3, perMs: 600 }

/** The workflows, which note what they do in a ledger. */
export function limitedOn(ledger: string) {
  const note = (line: Omit<Noted, 'at'>): void =>
    appendFileSync(ledger, `${JSON.stringify({ ...line, at: Date.now() })}\n`)
  const job = async (
    { key, ms }: { key: string; ms: number },
    name: string,
    step: (name: string, code: () => Promise<void>) => Promise<void>,
    id: string,
  ): Promise<string> => {
    // Both are noted again when a process dies before the step is recorded; the first time counts for the
    // beginning, the last for the end.
    await step('begin', async () => note({ what: 'begin', id, name, key }))
    await step('work', () => passTime(ms))
    await step('end', async () => note({ what: 'end', id, name, key }))
    return id
  }
  const limit = { concurrency: CONCURRENCY, key: ({ key }: { key: string }) => key }
  const counted = workflow(
    'counted',
    { limit },
    async (input: { key: string; ms: number; id: string }, ctx) =>
      job(input, 'counted', (name, code) => ctx.step(name, code), input.id),
  )
  const rated = workflow(
    'rated',
    { limit: { rate: { count: RATE.count, per: RATE.perMs } } },
    async (input: { key: string; ms: number; id: string }, ctx) =>
      job(input, 'rated', (name, code) => ctx.step(name, code), input.id),
  )
  return { counted, rated }
}

// Its workflows are needed elsewhere, too.
if (process.argv[2]?.startsWith('{')) {
  const { store, ledger, leaseMs } = JSON.parse(process.argv[2]) as LimitsOrder
  await open(storeOf(store), { register: limitedOn(ledger), lease: leaseMs })
}
