import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { SharedLoopHeartbeat, sharedMs } from './shared-loop-heartbeat.ts'

const ATTEMPT = { key: { iid: 7, execution: 2, command: 3 }, attempt: 4 }

/** The two sides of one loop heartbeat. */
function sides(): [loop: SharedLoopHeartbeat, thread: SharedLoopHeartbeat] {
  const loop = new SharedLoopHeartbeat()
  return [loop, new SharedLoopHeartbeat(loop.memory)]
}

test('one side sees what the other wrote', () => {
  const [loop, thread] = sides()

  loop.runtime = 2 ** 31 - 1
  loop.renewed('loop', 12.5)
  thread.renewed('thread', 13.5)
  loop.beat(true)
  loop.beat(true)

  expect(thread).toMatchObject({ runtime: 2 ** 31 - 1, beats: 2, isDebugged: true })
  expect([thread.renewedMs('loop'), loop.renewedMs('thread')]).toEqual([12.5, 13.5])
  loop.beat(false)
  expect(thread).toMatchObject({ beats: 3, isDebugged: false })
})

test('the instance in its turn is known until the turn ends', () => {
  const [loop, thread] = sides()
  expect(thread.calling).toBeUndefined()

  loop.beginTurn(Number.MAX_SAFE_INTEGER)
  expect(thread.calling).toEqual({ iid: Number.MAX_SAFE_INTEGER, activity: undefined })
  loop.endTurn()

  expect(thread.calling).toBeUndefined()
})

test('the activity that is called is known until it returns, or throws', () => {
  const [loop, thread] = sides()

  const during = ['resize', 'cut', 'cut', 'resize'].map((name) =>
    loop.callActivity(name, ATTEMPT, () => thread.calling),
  )
  expect(during).toEqual(
    ['resize', 'cut', 'cut', 'resize'].map((name) => ({
      iid: 7,
      activity: { name, execution: 2, command: 3, attempt: 4 },
    })),
  )
  expect(thread.calling).toBeUndefined()
  const failing = (): unknown =>
    loop.callActivity('resize', ATTEMPT, () => {
      throw new Error('why')
    })
  expect(failing).toThrow('why')

  expect(thread.calling).toBeUndefined()
  loop.beginTurn(8)
  expect(thread.calling).toEqual({ iid: 8, activity: undefined })
})

test('a long name is cut between two characters', () => {
  const [loop, thread] = sides()

  const during = loop.callActivity('ab' + '€'.repeat(100), ATTEMPT, () => thread.calling)

  expect(during!.activity!.name).toBe('ab' + '€'.repeat(66))
})

test('the shared time is the same in another thread', async () => {
  const code = `require('node:worker_threads').parentPort.postMessage((${String(sharedMs)})())`
  const before = sharedMs()

  const there = await new Promise<number>((resolve, reject) => {
    const worker = new Worker(code, { eval: true })
    worker.once('message', resolve)
    worker.once('error', reject)
  })

  expect(there).toBeGreaterThanOrEqual(before)
  expect(there).toBeLessThanOrEqual(sharedMs())
})
