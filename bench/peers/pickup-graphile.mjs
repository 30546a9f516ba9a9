// How soon graphile-worker begins a job that another process has added.

import { load, runAs, url } from './pickup-process.mjs'

const { Logger, makeWorkerUtils, run } = await load('graphile-worker')
const logger = new Logger(() => () => {})

await runAs({
  async work(seen) {
    const taskList = { job: async ({ sentMs }) => seen(sentMs) }
    await run({ connectionString: url, logger, noHandleSignals: true, concurrency: 10, taskList })
  },
  async send() {
    const utils = await makeWorkerUtils({ connectionString: url, logger })
    return (sentMs) => utils.addJob('job', { sentMs })
  },
})
