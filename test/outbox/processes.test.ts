// A process that is killed, or stopped for so long that it is taken for dead, with a message in its hands.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { expect, test } from 'vitest'
import { testProgram } from '../support/test-program.ts'
import type { HolderOrder } from './programs/holder.ts'
import { describeOutbox, recorder } from './support.ts'

const program = testProgram(join(import.meta.dirname, 'programs/holder.ts'))

describeOutbox('a process with a message', (place) => {
  /** Starts a process that takes the message of a topic. */
  const hold = async (topic: string): Promise<Holder> => {
    const order: HolderOrder = { store: place.where, topic }
    const holder = new Holder(order)
    await holder.says(/^got 1$/)
    return holder
  }

  test('that is killed with kill -9 has used up an attempt, and another process takes over', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, { payload: 7 })
    await using holder = await hold(numbers.name)

    await holder.kill()
    await place.expireOwner(numbers)
    const box = place.outbox()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await box.drain()

    expect(seen).toMatchObject([{ payload: 7, attempt: 2, seq: 1 }])
  })

  test('that is frozen, declared dead and continues has no effect any more', async () => {
    const numbers = place.topic<number>()
    await place.send(place.outbox(), numbers, { payload: 7 })
    await using holder = await hold(numbers.name)

    holder.child.kill('SIGSTOP')
    await place.expireOwner(numbers)
    const box = place.outbox()
    const { seen, run } = recorder()
    box.handle(numbers, run)
    await box.drain()
    await place.send(box, numbers, { payload: 8 })
    await box.drain()
    holder.child.kill('SIGCONT')
    holder.child.stdin!.write('go on\n')
    await holder.says(/^lost$/)

    expect(seen.map(({ payload, attempt, seq }) => [payload, attempt, seq])).toEqual([
      [7, 2, 1],
      [8, 1, 2],
    ])
    expect(await box.stats()).toMatchObject([{ depth: 0 }])
  })
})

class Holder implements AsyncDisposable {
  readonly child: ChildProcess
  readonly #lines: Interface
  readonly #said: string[] = []

  constructor(order: HolderOrder) {
    this.child = spawn(process.execPath, [program, JSON.stringify(order)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface(this.child.stdout!)
    this.#lines.on('line', (line) => this.#said.push(line))
  }

  /** Resolves when it has said such a line. */
  async says(words: RegExp): Promise<void> {
    while (!this.#said.some((line) => words.test(line))) await once(this.#lines, 'line')
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = once(this.child, 'close')
    this.child.kill('SIGKILL')
    await ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
