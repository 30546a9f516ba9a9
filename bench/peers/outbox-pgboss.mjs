// pg-boss: jobs that are sent in a transaction. Best: in batches, with its LISTEN and NOTIFY; as it comes, a
// worker takes one job every two seconds.

import { consumers, load, serve, settings, url } from './outbox-process.mjs'

const module = await load('pg-boss')
const PgBoss = module.PgBoss ?? module.default
const isBest = settings === 'best'

const BEST = { batchSize: 100, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true }

await serve(async (seen) => {
  const boss = new PgBoss({ connectionString: url, ...(isBest && { useListenNotify: true }) })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue('jobs', isBest ? { notify: true } : {})
  await boss.work('jobs', { localConcurrency: consumers, ...(isBest && BEST) }, async (jobs) =>
    jobs.forEach(({ data }) => seen(data)),
  )
  return (tx, items) => {
    const db = { executeSql: (text, values) => tx.query(text, values) }
    return items.length === 1
      ? boss.send('jobs', items[0], { db })
      : boss.insert(
          'jobs',
          items.map((data) => ({ data })),
          { db },
        )
  }
})
