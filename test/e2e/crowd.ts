import { setTimeout as passTime } from 'node:timers/promises'
import type { Client } from '../../src/index.ts'
import { attend, type Attendance, insist, mayComeEarly } from './attend.ts'
import { note } from './ledger.ts'
import { JOBS, type Start } from './programs/workflows.ts'
import { randomFrom } from './random.ts'
import type { Scene } from './scene.ts'

const MAX_PAUSE_MS = 400

/** All that is to be started in a round, and the instances that need attention. */
export class Crowd {
  readonly given: Start[] = []
  readonly acknowledged = new Set<string>()
  readonly #attended = new Map<string, Promise<string[]>>()
  readonly #attendance: Attendance
  readonly #random: () => number
  readonly #jobs: readonly Start['workflow'][]

  constructor(
    scene: Scene,
    client: Client,
    seed: number,
    jobs: readonly Start['workflow'][] = JOBS,
  ) {
    this.#random = randomFrom(seed)
    this.#jobs = jobs
    this.#attendance = {
      client,
      pause: () => passTime(this.#random() * MAX_PAUSE_MS),
      note: (line) => note(scene.ledger, line),
    }
  }

  /** Makes up starts. To some of them messages are sent at once. */
  give(who: string, count: number, random: () => number): Start[] {
    const starts = Array.from({ length: count }, (_, i) =>
      randomStart(this.#jobs, random, `${who}-${i}`),
    )
    this.given.push(...starts)
    for (const start of starts) {
      if (mayComeEarly(start) && random() < 0.5) this.#attendTo(start)
    }
    return starts
  }

  /** A caller was answered that it is started. */
  acknowledge(id: string): void {
    this.acknowledged.add(id)
    this.#attendTo(this.given.find((start) => start.id === id)!)
  }

  /** Attends to all instances that exist, whether a caller was answered or not. */
  async attendToStarted(): Promise<void> {
    const { client } = this.#attendance
    await Promise.all(
      this.given.map(async (start) => {
        const info = await insist(() => client.get(start.id).info())
        if (info !== undefined) this.#attendTo(start)
      }),
    )
  }

  /** Waits until all that was begun is done; answers what went wrong. */
  async attended(): Promise<string[]> {
    return (await Promise.all(this.#attended.values())).flat()
  }

  #attendTo(start: Start): void {
    if (this.#attended.has(start.id)) return
    const done = attend(this.#attendance, start).catch((error: unknown) => [
      `${start.id}: could not be attended to: ${String(error)}`,
    ])
    this.#attended.set(start.id, done)
  }
}

function randomStart(
  jobs: readonly Start['workflow'][],
  random: () => number,
  name: string,
): Start {
  const workflow = jobs[Math.floor(random() * jobs.length)]!
  const seed = Math.floor(random() * 100_000)
  return { workflow, id: `${workflow}-${name}`, input: { seed, n: 2 + Math.floor(random() * 8) } }
}
