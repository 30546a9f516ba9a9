// graphile-worker: jobs that are added in a transaction by its SQL functions. Best: with its local queue.
// Without queue names: jobs run side by side, in no promised order.

import { consumers, load, serve, settings, url } from './outbox-process.mjs'

const { Logger, run } = await load('graphile-worker')
const logger = new Logger(() => () => {})

const LOCAL = {
  localQueue: { size: 500, refetchDelay: { durationMs: 20, threshold: 0, maxAbortThreshold: 1 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}

const ONE = `select graphile_worker.add_job('job', payload := $1::json)`
const MANY = `select count(*) from graphile_worker.add_jobs(array(
  select ('job', p, null, null, null, null, null, null)::graphile_worker.job_spec
  from unnest($1::json[]) as p))`

await serve(async (seen) => {
  await run({
    connectionString: url,
    logger,
    noHandleSignals: true,
    concurrency: consumers,
    maxPoolSize: consumers + 4,
    taskList: { job: async (payload) => seen(payload) },
    preset: { worker: { concurrentJobs: consumers, ...(settings === 'best' && LOCAL) } },
  })
  return (tx, items) =>
    items.length === 1
      ? tx.query(ONE, [JSON.stringify(items[0])])
      : tx.query(MANY, [items.map((item) => JSON.stringify(item))])
})
