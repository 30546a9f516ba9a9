import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { SchedulesOrder } from './programs/schedules.ts'
import type { Scene } from './scene.ts'

/** Processes that fire schedules. */
export class Firers implements AsyncDisposable {
  kills = 0
  readonly #scene: Scene
  readonly #running = new Set<ChildProcess>()

  constructor(scene: Scene) {
    this.#scene = scene
  }

  start(): ChildProcess {
    const { store } = this.#scene
    const order: SchedulesOrder = { store, leaseMs: 2_000 }
    const child = spawn(
      process.execPath,
      [this.#scene.program('schedules'), JSON.stringify(order)],
      {
        stdio: 'ignore',
      },
    )
    this.#running.add(child)
    return child
  }

  async kill(child: ChildProcess): Promise<void> {
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
    this.kills++
    this.#running.delete(child)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.kill(child)))
  }
}
