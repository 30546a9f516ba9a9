// The least that a message between two processes can take on PostgreSQL: a commit, a notification,
// a look and, where something is to follow from it, another commit. Bare statements on connections
// of their own; what the machine takes for these is not the engine's.

import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'

import { Client } from 'pg'

import type { Crossings, CrossingSize } from './between-processes.ts'

/** Sends as many messages as `crossings` does, one at a time. */
export async function bareCrossings(url: string, size: CrossingSize): Promise<Crossings> {
  const { instances, messagesEach, everyMs } = size
  const [sender, listener, reader] = Array.from({ length: 3 }, () => new Client(url)) as [
    Client,
    Client,
    Client,
  ]
  const took = { received: [] as number[], seen: [] as number[] }
  try {
    await Promise.all([sender, listener, reader].map((client) => client.connect()))
    await sender.query('drop table if exists rows')
    await sender.query('create table rows (id bigserial primary key, text text)')
    await listener.query('listen bench_bare')
    const insert = { name: 'insert', text: 'insert into rows (text) values ($1)' }
    const look = { name: 'look', text: 'select text from rows order by id desc limit 1' }
    for (let message = 0; message < instances * messagesEach; message++) {
      const arrived = once(listener, 'notification')
      const sentMs = performance.now()
      await sender.query({ ...insert, values: ['x'.repeat(100)] })
      void sender.query('notify bench_bare')
      await arrived
      await reader.query(look)
      took.received.push(performance.now() - sentMs)
      await reader.query({ ...insert, values: ['x'.repeat(100)] })
      took.seen.push(performance.now() - sentMs)
      await setTimeout(everyMs)
    }
    return took
  } finally {
    await Promise.all([sender, listener, reader].map((client) => client.end()))
  }
}
