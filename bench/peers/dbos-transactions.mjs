// Workflows of DBOS that are put on a queue in a transaction of the caller, beside a row of the
// caller's own.

import { DBOS, measure, plan } from './dbos-process.mjs'
import { databaseUrl, listenTo, QUEUE, require } from './dbos-queues.mjs'

const { DBOSClient } = require('@dbos-inc/dbos-sdk')
const { Client } = require('pg')

const clients = Array.from(
  { length: plan.inFlight },
  () => new Client({ connectionString: databaseUrl }),
)
let starter

// No process takes the work: only the cost of enqueueing it is measured.
listenTo()
await measure({ prepare, load, finish })

async function prepare() {
  await DBOS.registerQueue(QUEUE)
  starter = await DBOSClient.create({ systemDatabaseUrl: databaseUrl })
  for (const client of clients) await client.connect()
  await clients[0].query('create table orders (id bigserial primary key, item text not null)')
}

async function load(ms) {
  const untilMs = performance.now() + ms
  let done = 0
  const lane = async (client) => {
    while (performance.now() < untilMs) {
      await client.query('begin')
      await client.query(`insert into orders (item) values ('chair')`)
      const options = { workflowName: 'fulfil', queueName: QUEUE }
      await starter.enqueueInTransaction(client, options, { item: 'chair' })
      await client.query('commit')
      done++
    }
  }
  await Promise.all(clients.map(lane))
  return done
}

async function finish() {
  for (const client of clients) await client.end()
  await starter.destroy()
}
