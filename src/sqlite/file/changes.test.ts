import { expect, onTestFinished, test } from 'vitest'
import { settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { Changes } from './changes.ts'
import { Database } from './database.ts'
import { register, unregister } from '../operations/runtimes.ts'

/** A file with two connections: one that watches, and one that writes. */
function scene() {
  const file = tempFile()
  const settings = settingsFor(file.path, {})
  const [own, other] = [new Database(settings), new Database(settings)]
  const clock = virtualClock()
  const noticed: number[] = []
  let looks = 0
  const changes = new Changes(
    () => {
      looks++
      return own
    },
    () => void noticed.push(clock.now()),
    clock,
  )
  onTestFinished(() => {
    own.close()
    other.close()
    file[Symbol.dispose]()
  })
  const looksWithin = async (ms: number): Promise<number> => {
    const before = looks
    await clock.advance(ms)
    return looks - before
  }
  return { own, other, clock, changes, noticed, looksWithin }
}

const REGISTRATION = { leaseMs: 60_000, workflows: [], info: '' }
const registerIn = (database: Database): number =>
  database.write('test', 0, (tx) => register(tx, REGISTRATION)).runtime

test('commits of other connections are noticed once, its own are not', async () => {
  const { own, other, clock, changes, noticed } = scene()
  changes.watch([])

  registerIn(own)
  await clock.advance('1s')
  expect(noticed).toEqual([])
  registerIn(other)
  registerIn(other)
  await clock.advance('1s')

  expect(noticed).toHaveLength(1)
})

test('commits from before are not noticed', async () => {
  const { other, clock, changes, noticed } = scene()
  registerIn(other)

  changes.watch([])
  await clock.advance('1s')

  expect(noticed).toEqual([])
})

test('alone, the file is checked ten times a second, and another process is noticed at the next check', async () => {
  const { own, other, clock, changes, noticed, looksWithin } = scene()
  changes.watch([registerIn(own)])

  // With each second comes a look around.
  expect(await looksWithin(10_000)).toBe(110)
  registerIn(other)
  await clock.advance(100)

  expect(noticed).toHaveLength(1)
})

test('with other processes, it is checked every few milliseconds, until they have left', async () => {
  const { own, other, clock, changes, noticed, looksWithin } = scene()
  changes.watch([registerIn(own)])
  const runtime = registerIn(other)
  await clock.advance('10s')

  expect(await looksWithin(1_000)).toBe(101)
  other.write('test', 0, (tx) => unregister(tx, runtime))
  await clock.advance(10)
  expect(noticed).toHaveLength(2)
  await clock.advance('3s')

  expect(await looksWithin(1_000)).toBe(11)
})

test('processes that only send are watched closely, for a while', async () => {
  const { other, clock, changes, looksWithin } = scene()
  changes.watch([])
  other.write('test', 0, (tx) =>
    tx.sql(`insert into workflows (name, version) values ('a', '')`).run(),
  )
  await clock.advance(100)

  expect(await looksWithin(1_000)).toBe(201)
  await clock.advance('1s')
  expect(await looksWithin(1_000)).toBe(11)
})

test('a file that cannot be opened is tried again', async () => {
  const clock = virtualClock()
  let tries = 0
  const opened = (): Database => {
    tries++
    throw new Error('no such folder')
  }
  const changes = new Changes(opened, () => {}, clock)

  changes.watch([])
  await clock.advance('1s')

  expect(tries).toBe(11)
})

test('after a stop nothing is checked', async () => {
  const { clock, changes } = scene()
  changes.watch([])

  changes.stop()

  expect(clock.pending).toBe(0)
})
