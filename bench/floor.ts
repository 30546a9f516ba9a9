// The least that a workflow of one activity can take: the two commits that make it durable, bare,
// by the same way to the same disk. What the machine takes for these is not the engine's.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

import { Client } from 'pg'

import { databaseFolder } from './folder.ts'
import type { BenchServer } from './postgres.ts'
import { oneAtATime } from './shapes.ts'
import { sqliteClass } from './sqlite-class.ts'

/** Two commits of one row each in a file, made in a thread, in milliseconds. */
export async function sqliteFloor(samples: number): Promise<number[]> {
  const folder = mkdtempSync(join(databaseFolder(), 'holdfast-bench-'))
  const thread = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
    const db = new (${sqliteClass()})(workerData.path)
    db.exec('pragma journal_mode = wal')
    db.exec('pragma synchronous = full')
    db.exec('create table rows (id integer primary key, text text)')
    const insert = db.prepare('insert into rows (text) values (?)')
    parentPort.on('message', (text) => {
      if (text === null) return db.close(), process.exit()
      insert.run(text)
      parentPort.postMessage(1)
    })`,
    {
      eval: true,
      workerData: { path: join(folder, 'floor.db') },
      execArgv: ['--disable-warning=ExperimentalWarning'],
    },
  )
  const commit = async (): Promise<void> => {
    const answered = once(thread, 'message')
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is a thread
    thread.postMessage('x'.repeat(100))
    await answered
  }
  try {
    return await oneAtATime(async () => {
      await commit()
      await commit()
    }, samples)
  } finally {
    const ended = once(thread, 'exit')
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is a thread
    thread.postMessage(null)
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Two commits of one row each by prepared statements, in milliseconds. */
export async function postgresFloor(server: BenchServer, samples: number): Promise<number[]> {
  const client = new Client({ connectionString: await server.database('bench_floor') })
  await client.connect()
  try {
    await client.query('create table if not exists rows (id bigserial primary key, text text)')
    const insert = { name: 'insert', text: 'insert into rows (text) values ($1)' }
    const commit = (): Promise<unknown> => client.query({ ...insert, values: ['x'.repeat(100)] })
    return await oneAtATime(async () => {
      await commit()
      await commit()
    }, samples)
  } finally {
    await client.end()
  }
}
