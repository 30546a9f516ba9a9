import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MAIN = join(import.meta.dirname, '../bench/main.ts')

test('every benchmark still runs and prints its rows', { timeout: 480_000 }, async () => {
  const { stdout, stderr } = await bench('--smoke')

  expect(stderr).toBe('')
  for (const row of [
    'proceed loop: passes a second, median round',
    'proceed loop: a 1 ms timer beside it is late, worst of all',
    'bare loop: the same timer is late, worst of all',
    'wake to run of an idle worker: p50',
    'wake to run of an idle worker: p99',
    'idle workers: heap each',
    'idle workers: CPU time',
    'notify_wakeup:',
    'semaphore_gated:',
    'alternating:',
    'multi_notifier:',
    'plain, 1 KiB: time beside JSON',
    'PostgreSQL, 10 in flight',
    'SQLite, 10 in flight',
    'PostgreSQL W1: workflows/s',
    'PostgreSQL W10: write transactions per step',
    'SQLite W10: steps/s, durable',
    'SQLite W10, each fsync 2 ms longer: a 1 ms timer is late, p99',
    'SQLite: the same as a ratio',
    'SQLite: cold replay of 100 events',
    'PostgreSQL: cold replay of 100 events',
    'PostgreSQL: the first one due, with 100 asleep, is late',
    'PostgreSQL CHILD: children/s',
    'PostgreSQL CHANNEL one at a time, send to first effect: p50',
    'PostgreSQL CHANNEL, 5 senders to as many instances: messages/s',
    'PostgreSQL CHANNEL between two processes, lease 1s: p99',
    'PostgreSQL LOOP, 1 × 50 continue-as-new: executions/s',
    'SQLite CHILD: children/s',
    'SQLite CHANNEL between two processes, lease 1s: p99',
    'SQLite LOOP, 5 × 10 continue-as-new: executions/s',
    'PostgreSQL TASK W1, 10 in flight: tasks/s',
    "PostgreSQL TASK W10: beside the owner's own",
    'SQLite TASK W10, 10 in flight: tasks/s',
    'SQLite TASK W1 one at a time: p99',
    'PostgreSQL LIMIT: workflows/s',
    'SQLite LIMIT, no limit: workflows/s',
    'TX, 1 connection, in(tx): beside the transaction alone',
    'TX, 16 connections, in(tx, { notify: false }): starts/s',
    'a workflow of 5 steps, prometheus(): processor time',
    'spans that the SDK was given',
    'PostgreSQL, idle runtime: statements/s',
    'PostgreSQL, message from another process to an idle runtime: p50',
    'PostgreSQL, bare: insert, NOTIFY, LISTEN, select, insert: p99',
    'SQLite, message from another process to an idle runtime, until its first effect: p99',
    'idle listeners beside none: ratio',
    'OUTBOX 1p1c, Holdfast: messages/s end to end',
    'OUTBOX 16p16c, 100 each, Holdfast, batches: statements per message',
    'OUTBOX idle, Holdfast: commit to handler, p50',
    'OUTBOX idle, 128 partitions: statements/s',
    'graphile-worker and pg-boss: skipped',
    'W10 ceiling',
    'FAN: Holdfast beside the bare writes',
    'DBOS: skipped',
    'push, 1 in flight: beside fdatasync',
    'push, take and ack, 512 in flight: messages/s',
  ]) {
    expect(stdout).toContain(row)
  }
  expect(stdout).not.toMatch(/NaN/)
})

test('a benchmark can be run alone', async () => {
  const { stdout } = await bench('codec', '--smoke')

  expect(stdout).toContain('\ncodec\n')
  expect(stdout).not.toContain('\nworkers\n')
})

test('an unknown benchmark is refused with the list of all', async () => {
  await expect(bench('wrokers')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no "wrokers"; there are workers, codec, engine'),
  })
})

function bench(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const tsx = fileURLToPath(import.meta.resolve('tsx/cli'))
  return promisify(execFile)(process.execPath, [tsx, MAIN, ...args])
}
