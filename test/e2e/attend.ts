// What the driving process does for instances that need someone outside: it sends to them, asks
// them, pauses them, ends them. It does the same for the same start, with and without faults.

import { setTimeout as passTime } from 'node:timers/promises'
import { type Client, ConflictError, StoreError } from '../../src/index.ts'
import type { Line } from './ledger.ts'
import { Refused } from './programs/effects.ts'
import { parcels, questions } from './programs/mail.ts'
import type { Job, Start } from './programs/workflows.ts'

/** How instances are attended to. */
export interface Attendance {
  readonly client: Client
  /** Lets some time pass between two calls. */
  readonly pause: () => Promise<unknown>
  readonly note: (line: Line) => void
}

/** Does what a start needs; answers what went wrong. */
export async function attend(attendance: Attendance, start: Start): Promise<string[]> {
  const duty = DUTIES[start.workflow]
  return duty === undefined ? [] : duty(attendance, start.id, (start.input as Job).n)
}

/** Whether its messages may be sent before it is started. */
export function mayComeEarly({ workflow }: Start): boolean {
  return workflow === 'collect'
}

type Duty = (attendance: Attendance, id: string, n: number) => Promise<string[]>

const DUTIES: Partial<Record<Start['workflow'], Duty>> = {
  async collect({ client, pause, note }, id, n) {
    const instance = client.get(id)
    for (let i = 0; i < n; i++) {
      await pause()
      const value = `parcel ${i}`
      const send = (): Promise<void> => instance.send(parcels, value, { dedupeKey: `${i}` })
      note({ what: 'sending', id, channel: parcels.name, value })
      await insist(send)
      note({ what: 'sent', id, channel: parcels.name, value })
      // As a sender that does not know whether it arrived. The last one may have ended the
      // instance.
      if (i % 3 === 0 && i < n - 1) await insist(send)
    }
    return []
  },

  async desk({ client, pause, note }, id, n) {
    const ask = async (i: number): Promise<string[]> => {
      await pause()
      const value = { text: `question ${i}`, i }
      note({ what: 'sending', id, channel: questions.name, value })
      const options = { dedupeKey: `${i}`, timeout: ANSWER_MS }
      const answer = await insist(() => client.get(id).request(questions, value, options)).catch(
        (error: unknown) => (error instanceof Refused ? error.details.value : String(error)),
      )
      note({ what: 'sent', id, channel: questions.name, value })
      return answer === i * 2 ? [] : [`${id}: question ${i} was answered with ${answer}`]
    }
    const findings = await Promise.all(Array.from({ length: n }, (_, i) => ask(i)))
    return findings.flat()
  },

  async rounds({ client, pause }, id) {
    const instance = client.get(id)
    await pause()
    await insist(() => instance.suspend('for a while'))
    await pause()
    try {
      await insist(() => instance.resume())
    } catch (error) {
      // It had ended before it was suspended, or since a first call whose answer was lost.
      if (!(error instanceof ConflictError)) throw error
    }
    return []
  },

  async cleans({ client, pause }, id) {
    await pause()
    await insist(() => client.get(id).cancel('enough'))
    return []
  },

  async halts({ client, pause }, id) {
    await pause()
    await insist(() => client.get(id).terminate('at once'))
    return []
  },
}

// Longer than any round takes to end: a process with a backlog answers late.
const ANSWER_MS = 600_000
const INSIST_MS = 180_000

/**
 * A frozen process may hold the lock of an SQLite file, and a server may be away, for longer than one
 * call waits. Only for what is recognised when it comes twice.
 */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + INSIST_MS; ;) {
    try {
      return await call()
    } catch (error) {
      const again = error instanceof StoreError && error.retryable
      if (!again || performance.now() > until) throw error
      await passTime(100)
    }
  }
}
