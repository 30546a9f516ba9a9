// How soon pg-boss begins a job that another process has sent, with its LISTEN and NOTIFY. With its
// default of one job at a time, it would not keep up.

import { load, runAs, url } from './pickup-process.mjs'

const module = await load('pg-boss')
const PgBoss = module.PgBoss ?? module.default

const boss = new PgBoss({ connectionString: url, useListenNotify: true })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue('jobs', { notify: true })

const OPTIONS = {
  batchSize: 100,
  localConcurrency: 4,
  pollingIntervalSeconds: 0.5,
  burstWhenBatchFull: true,
}

await runAs({
  async work(seen) {
    await boss.work('jobs', OPTIONS, async (jobs) => {
      for (const { data } of jobs) seen(data.sentMs)
    })
  },
  async send() {
    return (sentMs) => boss.send('jobs', { sentMs })
  },
})
