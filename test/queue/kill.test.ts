// Processes on one file that are killed in the middle of their work, again and again.
// HOLDFAST_ROUNDS for more rounds.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { Database } from '../../src/sqlite/file/database.ts'
import { writeProgram } from './build-program.ts'
import { queueFile, queueFileSettings, queueInTime } from './support.ts'

const ROUNDS = Number(process.env['HOLDFAST_ROUNDS'] ?? 3)
const PROCESSES = 2

/** Runs a process until it has said this many lines, and kills it; answers what it said. */
async function runAndKill(program: string, args: readonly string[], lines: number) {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  const said: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line)
    if (said.length === lines) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  expect([child.exitCode, child.signalCode]).toEqual([null, 'SIGKILL'])
  return said
}

test(
  'whenever processes are killed, nothing pushed is lost, nothing acknowledged comes back, and no id is used twice',
  { timeout: 30_000 + ROUNDS * 20_000 },
  async () => {
    await using file = queueFile()
    const program = writeProgram(dirname(file.path), 'load')
    const said: string[] = []

    for (let round = 0; round < ROUNDS; round++) {
      // One of them has a thread for the file, the other has not.
      const runs = Array.from({ length: PROCESSES }, (_, i) => {
        const args = [file.path, `${round}.${i}`, ...(i === 0 ? [] : ['threadless'])]
        return runAndKill(program, args, 40 + round * 57 + i * 31)
      })
      said.push(...(await Promise.all(runs)).flat())
    }
    // What ended several processes waits a while.
    const database = new Database(queueFileSettings(file.path))
    await using under = await queueInTime<string>({ database })
    const { queue } = under
    await under.pass(600_000)
    const left: { id: number; data: string }[] = []
    for (;;) {
      const page = await queue.takeMany(1_000)
      if (page.length === 0) break
      left.push(...page.map(({ id, data }) => ({ id, data })))
    }

    const pushed = said.flatMap((line) => {
      const [how, id, data] = line.split(' ')
      return how === 'pushed' ? [{ id: Number(id), data: data! }] : []
    })
    const idsAfter = (word: string): Set<number> =>
      new Set(
        said
          .filter((line) => line.startsWith(`${word} `))
          .map((line) => Number(line.split(' ')[1])),
      )
    const [acking, acked] = [idsAfter('acking'), idsAfter('acked')]
    const found = new Map(left.map(({ id, data }) => [id, data]))

    expect(pushed.length).toBeGreaterThan(20 * ROUNDS)
    expect(acked.size).toBeGreaterThan(0)
    expect(pushed.filter(({ id, data }) => !acking.has(id) && found.get(id) !== data)).toEqual([])
    expect(left.filter(({ id }) => acked.has(id))).toEqual([])
    expect(new Set(pushed.map(({ id }) => id)).size).toBe(pushed.length)
    expect(left.map(({ id }) => id)).toEqual([...found.keys()].toSorted((a, b) => a - b))
    expect(new Set(found.values()).size).toBe(left.length)
    // Of one pusher, in the order it pushed.
    const places = new Map<string, number>()
    for (const { data } of left) {
      const [process, pusher, number] = data.split('/') as [string, string, string]
      expect(Number(number)).toBeGreaterThan(places.get(`${process}/${pusher}`) ?? -1)
      places.set(`${process}/${pusher}`, Number(number))
    }
    // No process is left that could have anything in flight.
    expect(queue.counts).toMatchObject({ total: left.length, inFlight: left.length })
  },
)
