import { expect, test } from 'vitest'
import { TaskDatabase } from '../../../test/support/task-database.ts'
import type { ClaimedTask, NewTask } from '../../store/tasks.ts'
import { taskRequest } from '../../testing/contract/task-items.ts'
import { claimTasks } from './task-claim.ts'
import { freeTasksOf } from './task-owners.ts'
import { finishTasks } from './task-results.ts'

// A claim reads one position of an index at a time (see `plans.test.ts`), so the number of reads
// shows what it costs.

const LIMIT = { key: 'one at a time', concurrency: 1, rate: null }

/** Makes `count` tasks that the first runtime cannot take, by something that a second one has done. */
type Backlog = (world: World, count: number) => void

test.each<[string, Backlog]>([
  ['of another activity', (world, count) => world.ask(count, { activity: 'mail' })],
  ['of another tag', (world, count) => world.ask(count, { tag: 'gpu' })],
  [
    'in a session of another runtime',
    (world, count) => {
      world.ask(1, { session: 'a' })
      world.claim(world.other)
      world.ask(count, { session: 'a' })
    },
  ],
  [
    'in sessions, of which it has as many as it may',
    (world, count) => {
      world.ask(1, { session: 'busy' })
      world.claim(world.runtime)
      for (let i = 0; i < count; i++) world.ask(1, { session: `session ${i}` })
    },
  ],
  [
    'of a limit that is used up',
    (world, count) => {
      world.ask(1 + count, { limit: LIMIT })
      world.claim(world.other)
    },
  ],
  [
    'until a later attempt',
    (world, count) => {
      world.ask(count)
      world.retryAll(world.other, 60_000)
    },
  ],
  [
    'that should have started by now',
    (world, count) => {
      world.ask(count, { startBy: 0 })
      world.claim(world.runtime)
    },
  ],
  [
    'that two runtimes died with, of which it holds one',
    (world, count) => {
      world.ask(1 + count)
      world.dieWithAll()
      world.dieWithAll()
      world.claim(world.runtime)
    },
  ],
])('however many tasks wait %s, the claim of another one costs the same', (_, prepare) => {
  const [few, many] = [3, 300].map((count) => {
    using world = new World()
    prepare(world, count)
    world.ask(1, { input: '"this one"' })

    const { tasks, looks } = world.claim(world.runtime)

    expect(tasks).toMatchObject([{ input: '"this one"' }])
    return looks
  })

  expect(many).toBe(few)
})

/** Two runtimes, and what they do. */
class World implements Disposable {
  readonly #database = new TaskDatabase()
  readonly runtime = this.#database.register()
  readonly other = this.#database.register()

  ask(count: number, given: Partial<NewTask> = {}): void {
    for (let i = 0; i < count; i++) this.#database.ask(given)
  }

  /** What a claim returns, and how many reads it takes. */
  claim(runtime: number): { tasks: readonly ClaimedTask[]; looks: number } {
    const before = this.#database.looks
    const request = taskRequest(runtime, { maxSessions: 1 })
    const { tasks } = this.#database.run((tx) => claimTasks(tx, request))
    return { tasks, looks: this.#database.looks - before }
  }

  /** Claims all there is, and has it retried later. */
  retryAll(runtime: number, delayMs: number): void {
    const end = { kind: 'retry', delayMs } as const
    const results = this.claim(runtime).tasks.map((task) => ({ ...task, end }))
    this.#database.run((tx) => finishTasks(tx, runtime, results))
  }

  /** A third one claims all there is, and dies. */
  dieWithAll(): void {
    const victim = this.#database.register()
    this.claim(victim)
    this.#database.run((tx) => freeTasksOf(tx, victim, true))
  }

  [Symbol.dispose](): void {
    this.#database[Symbol.dispose]()
  }
}
