// How soon a workflow of DBOS has a message that another process has sent.

import { createRequire } from 'node:module'
import { join } from 'node:path'

import { runAs, url } from './pickup-process.mjs'

const { DBOS, DBOSClient } = createRequire(join(process.argv[2], 'package.json'))(
  '@dbos-inc/dbos-sdk',
)
const READER = 'reader'

await runAs({
  async work(seen) {
    const reader = DBOS.registerWorkflow(
      async () => {
        // There is no waiting without a time-out; what ends by it is no message.
        for (;;) {
          const sentMs = await DBOS.recv('mail', 60)
          if (sentMs !== null) await DBOS.runStep(async () => seen(sentMs), { name: 'seen' })
        }
      },
      { name: READER },
    )
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: url,
      systemDatabasePoolSize: 10,
      logLevel: 'error',
      runAdminServer: false,
    })
    await DBOS.launch()
    await DBOS.startWorkflow(reader, { workflowID: READER })()
  },
  async send() {
    const client = await DBOSClient.create({ systemDatabaseUrl: url })
    return (sentMs) => client.send(READER, sentMs, 'mail')
  },
})
