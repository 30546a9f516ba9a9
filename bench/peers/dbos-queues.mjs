// What the scripts about queues of DBOS share. Which queues a process takes work from is decided when
// it is launched.

import { createRequire } from 'node:module'
import { join } from 'node:path'

import { DBOS } from './dbos-process.mjs'

const [folder, url] = process.argv.slice(2)

export const QUEUE = 'tasks'
export const databaseUrl = url
export const require = createRequire(join(folder, 'package.json'))

/** Has this process take work from these queues alone. */
export function listenTo(...queues) {
  DBOS.setConfig({
    name: 'bench',
    applicationVersion: 'bench',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 10,
    logLevel: 'error',
    runAdminServer: false,
    listenQueues: queues,
  })
}
