import type { TopicDefinition } from './topic.ts'

/**
 * The partitions of messages without a key: those of each topic in turn. Each topic has its own turn, or topics
 * that are used together would leave out partitions; it begins anywhere, or short processes would all fill the
 * same ones.
 */
export class PartitionTurns {
  readonly #random: () => number
  readonly #next = new Map<string, number>()

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** The index of the next partition. */
  take({ name, partitions }: Pick<TopicDefinition, 'name' | 'partitions'>): number {
    const index = (this.#next.get(name) ?? Math.floor(this.#random() * partitions)) % partitions
    this.#next.set(name, index + 1)
    return index
  }
}
