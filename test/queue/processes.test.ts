// Processes that have nothing to do but to wait for a queue: they stay until they have what they
// wait for.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { untilFree } from '../../src/sqlite/file/busy.ts'
import { openDriver } from '../../src/sqlite/connect/driver.ts'
import { writeProgram } from './build-program.ts'
import { queueFile, takeAll } from './support.ts'

/** A process, and what it says. */
function start(program: string, args: readonly string[]) {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  const said: string[] = []
  const lines = createInterface({ input: child.stdout })
  const closed = once(lines, 'close')
  lines.on('line', (line) => said.push(line))
  return {
    child,
    said,
    /** Resolves with a line that has this in it; rejects when the process has ended without one. */
    async says(text: string): Promise<void> {
      const isSaid = (): boolean => said.some((line) => line.includes(text))
      while (!isSaid()) {
        const more = await Promise.race([once(lines, 'line'), closed.then(() => undefined)])
        if (more === undefined && !isSaid()) throw new Error(`it only said ${said.join(', ')}`)
      }
    },
    ended: async () => {
      await closed
      return exitOf(child)
    },
    /** A test that fails leaves no process behind. */
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  }
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return child.exitCode ?? child.signalCode
}

test(
  'a push that waits for room waits until another process has made it',
  { timeout: 90_000 },
  async () => {
    await using file = queueFile()
    using producer = start(writeProgram(dirname(file.path), 'producer'), [file.path, '20'])
    // It was alone when it found the queue full.
    await producer.says('full')
    const queue = await file.open<number>()

    const gone = new AbortController()
    const ended = producer.ended().finally(() => gone.abort())
    const got: number[] = []
    for await (const delivery of queue.consume({ signal: gone.signal })) {
      got.push(delivery.data)
      await delivery.ack()
    }
    // What the loop had just taken when it ended is given back, which may take a moment.
    while (got.length < 20) got.push(...(await takeAll(queue)))

    expect(await ended).toBe(0)
    expect(producer.said).toEqual(['full', 'done'])
    expect(got).toEqual(Array.from({ length: 20 }, (_, i) => i))
  },
)

test(
  'a handler that could not read its queue continues, and says so',
  { timeout: 90_000 },
  async () => {
    await using file = queueFile()
    const queue = await file.open<string>()
    const program = writeProgram(dirname(file.path), 'handler')
    using handler = start(program, [file.path])
    using killed = start(program, [file.path])
    await Promise.all([handler.says('ready'), killed.says('ready')])
    const other = openDriver(file.path, undefined)
    untilFree('test', 10_000, () => other.exec('begin immediate'))

    // A process that looks now finds one that has ended, and cannot remove it from the table.
    killed.child.kill('SIGKILL')
    await handler.says('warned: reading the state of the queue failed')
    other.exec('rollback')
    other.close()
    await queue.push('work')

    await handler.says('handled work')
    expect(await handler.ended()).toBe(0)
  },
)
