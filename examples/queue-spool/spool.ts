// A spool: what is handed to it is on disk at once, and is sent when the other side is well.

import { failure } from 'holdfast'
import { openQueue, type Queue } from 'holdfast/queue'

export interface Reading {
  readonly sensor: string
  readonly celsius: number
}

/** The other side has looked at it and said no: sending it again would not help. */
const Refused = failure('Refused', { retryable: false })

// The other side fails often; only unexpected errors are worth a line.
const log = { debug() {}, info() {}, warn() {}, error: console.error }

/** Opens the spool; it begins to send what is in it. */
export async function openSpool(path: string, url: string): Promise<Queue<Reading>> {
  const spool = await openQueue<Reading>(path, {
    lease: '10s',
    maxAttempts: 20,
    backoff: { initial: '50ms', max: '1s' },
    log,
  })
  spool.handle(
    async ({ id, data, attempt }, { signal }) => {
      const answer = await fetch(url, {
        method: 'POST',
        body: JSON.stringify(data),
        // The same for every attempt, so that the other side can recognise a repetition.
        headers: { 'idempotency-key': `reading-${id}` },
        signal,
      })
      if (answer.status >= 400 && answer.status < 500) throw new Refused(await answer.text())
      if (!answer.ok) throw new Error(`status ${answer.status}`)
      console.log(`sent ${data.sensor} in attempt ${attempt}`)
    },
    { concurrency: 2 },
  )
  return spool
}
