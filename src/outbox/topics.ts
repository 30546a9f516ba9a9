import type { NewTopic, OutboxStore, TopicRow } from '../store/outbox-store.ts'

/** The topics of an outbox, as the store has them. Each is registered once by a process. */
export class Topics {
  readonly #store: OutboxStore
  readonly #known = new Map<string, TopicRow>()

  constructor(store: OutboxStore) {
    this.#store = store
  }

  /** Those that this process has used. */
  get known(): readonly TopicRow[] {
    return [...this.#known.values()]
  }

  has(name: string): boolean {
    return this.#known.has(name)
  }

  /**
   * Registers topics: with the store, or with `inside` in a transaction of the user, which may be rolled back
   * and so proves nothing about the next one. Throws if one has another number of partitions.
   */
  async register(
    topics: readonly NewTopic[],
    inside?: (unknown: readonly NewTopic[]) => Promise<readonly TopicRow[]>,
  ): Promise<readonly TopicRow[]> {
    const unknown = topics.filter(({ name }) => !this.#known.has(name))
    const found = unknown.length === 0 ? [] : await this.#register(unknown, inside)
    return topics.map((topic) => {
      const row = this.#known.get(topic.name) ?? found.find(({ name }) => name === topic.name)!
      if (row.partitions === topic.partitions) return row
      throw new RangeError(
        `topic "${topic.name}" has ${row.partitions} partition${row.partitions === 1 ? '' : 's'} in the database, and ` +
          `${topic.partitions} in this process: the number cannot be changed; use ` +
          `topic('${topic.name}', { partitions: ${row.partitions} }), or another topic`,
      )
    })
  }

  async #register(
    unknown: readonly NewTopic[],
    inside: ((unknown: readonly NewTopic[]) => Promise<readonly TopicRow[]>) | undefined,
  ): Promise<readonly TopicRow[]> {
    if (inside !== undefined) return inside(unknown)
    const rows = await this.#store.topics(unknown)
    this.learn(rows)
    return rows
  }

  /** Learns topics that were registered in a transaction which has ended, unless it was rolled back. */
  async confirm(names: ReadonlySet<string>): Promise<void> {
    if ([...names].every((name) => this.#known.has(name))) return
    const rows = await this.#store.allTopics()
    this.learn(rows.filter(({ name }) => names.has(name)))
  }

  /** These are registered and committed. */
  learn(rows: readonly TopicRow[]): void {
    for (const row of rows) this.#known.set(row.name, row)
  }

  async named(name: string): Promise<TopicRow | undefined> {
    return this.#known.get(name) ?? (await this.#find((row) => row.name === name))
  }

  async of(partition: number): Promise<TopicRow | undefined> {
    const holds = ({ first, partitions }: TopicRow): boolean =>
      partition >= first && partition < first + partitions
    return this.known.find(holds) ?? (await this.#find(holds))
  }

  async #find(is: (row: TopicRow) => boolean): Promise<TopicRow | undefined> {
    const rows = await this.#store.allTopics()
    return rows.find(is)
  }
}
