// The processes of a test that run workflows. One that has crashed is replaced by another.

import type { TestProcess } from './test-process.ts'

/** All processes of a test. */
export class TestProcesses {
  readonly #make: (number: number) => TestProcess
  readonly #all: TestProcess[] = []
  readonly #opening = new Set<Promise<void>>()
  #isClosed = false

  /** `make` creates a process with that number, which is not open yet. */
  constructor(make: (number: number) => TestProcess) {
    this.#make = make
  }

  get all(): readonly TestProcess[] {
    return this.#all
  }

  /** Opens so many, one after the other. */
  async open(count: number): Promise<void> {
    for (let number = 1; number <= count; number++) await this.#open(number)
  }

  /** All look for work that no notification has announced. */
  look(): void {
    for (const process of this.#all) process.look()
  }

  /** The process that runs the caller, if that is an activity. */
  get caller(): TestProcess | undefined {
    return this.#all.find(({ isCaller }) => isCaller)
  }

  /** Ends those of these that are open, and opens others in their place. */
  async crash(processes: readonly TestProcess[]): Promise<void> {
    const open = processes.filter(({ runtime }) => runtime !== undefined)
    for (const process of open) process.crash()
    for (const process of open) void this.replace(process)
    await this.opened()
  }

  /** Opens another process in place of one that has crashed. */
  replace({ number }: TestProcess): Promise<void> {
    if (this.#isClosed || !this.#all[number - 1]!.isDead) return this.opened()
    const opening: Promise<void> = this.#open(number).finally(() => this.#opening.delete(opening))
    this.#opening.add(opening)
    return opening
  }

  /** Resolves when all that are being opened are open. */
  async opened(): Promise<void> {
    await Promise.all(this.#opening)
  }

  /** Ends all for good. */
  close(): void {
    this.#isClosed = true
    for (const process of this.#all) process.crash()
  }

  async #open(number: number): Promise<void> {
    const process = this.#make(number)
    this.#all[number - 1] = process
    await process.open()
  }
}
