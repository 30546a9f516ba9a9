// Where `checkAgainst` gets histories from: a store, exports, or files of exports.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TransformChain } from '../../base/codec/transform.ts'
import { describe } from '../../base/describe.ts'
import { readExported } from '../../engine/client/exported-history.ts'
import { turnsOf } from '../../engine/client/past.ts'
import type { Values } from '../../engine/core/values.ts'
import type { ExportedHistory } from '../../engine/define/instance.ts'
import { postgres } from '../../postgres/store.ts'
import { sqlite } from '../../sqlite/sqlite.ts'
import type { HistoryReader, RecordedInstance } from '../../store/history-reader.ts'
import type { WorkflowName } from '../../store/instances.ts'
import { OPEN_HISTORY_READER, type Store, type StoreHandle } from '../../store/store.ts'
import { ItemWrapper } from '../../store/wrapped-items.ts'
import { parseStoreUrl } from '../../store/store-url.ts'
import type { RecordedHistory } from './rehearsals.ts'

/** A history to check. */
export interface Candidate extends RecordedHistory {
  readonly isFinished: boolean
}

/** How many histories of each workflow and version are checked. */
export interface Limits {
  readonly running: number
  readonly recent: number
}

/** Which code is registered. */
export interface Registered {
  /** Whether there is code of this name and version; of an empty version, any. */
  has(workflow: WorkflowName): boolean
  /** Whether there is code of this name. */
  hasName(name: string): boolean
}

/** Unfinished instances that no history is read of, because their workflow is not registered. */
export interface Unchecked extends WorkflowName {
  readonly count: number
  readonly examples: readonly string[]
}

/** Histories of one place. */
export interface Histories {
  /** Those to check, running ones first where that can be known beforehand. */
  candidates(limits: Limits, registered: Registered): AsyncIterable<Candidate>
  /** Once all candidates are read: unfinished instances whose workflow is not registered. */
  unchecked(): readonly Unchecked[]
  /** How many candidates there are, as far as that is known. */
  readonly total: number
  close(): Promise<void>
}

/** Opens the histories of a store, a folder, a file, or exports. */
export function historiesOf(
  from: unknown,
  values: Values,
  chain: TransformChain | undefined,
): Histories {
  if (typeof from === 'string') {
    if (!/^(memory|file|postgres(ql)?):/.test(from) && existsSync(from)) {
      return new ExportedHistories(filesIn(from), values)
    }
    // One letter is a drive of Windows.
    if (!/^[a-z][a-z0-9+.-]+:/i.test(from)) {
      throw new TypeError(
        `checkAgainst: there is no folder or file ${describe(from)} with exported histories; the URL of a ` +
          'store begins with "file:" or "postgres://"',
      )
    }
    return new StoredHistories(readerOf(storeAt(from)), chain)
  }
  const isExport = typeof from === 'object' && from !== null && 'events' in from
  if (Array.isArray(from) || isExport) {
    const all: readonly unknown[] = Array.isArray(from) ? from : [from]
    const batches = all.map((one) => ({ place: '', read: () => [one] }))
    return new ExportedHistories(batches, values)
  }
  return new StoredHistories(readerOf(from as Store), chain)
}

function storeAt(url: string): Store {
  const address = parseStoreUrl(url, 'checkAgainst')
  return address.kind === 'sqlite'
    ? sqlite({ path: address.path })
    : postgres({ url: address.url, notify: 'off' })
}

function readerOf(store: Store): HistoryReader {
  const reader = (store as Partial<StoreHandle> | undefined)?.[OPEN_HISTORY_READER]
  if (typeof reader === 'function') return reader()
  throw new TypeError(
    'checkAgainst: needs a store (a URL, sqlite() or postgres()), exported histories, or a folder of ' +
      `them, got ${describe(store)}`,
  )
}

/** Exports that are read only when it is their turn. */
interface Batch {
  /** How an error about one of them begins: with the file. */
  readonly place: string
  readonly read: () => readonly unknown[]
}

function filesIn(path: string): Batch[] {
  const isFolder = statSync(path).isDirectory()
  const files = isFolder
    ? readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json'))
        .toSorted()
        .map((name) => join(path, name))
    : [path]
  if (files.length === 0) throw new TypeError(`checkAgainst: there is no .json file in ${path}`)
  return files.map((file) => ({
    place: ` ${file}`,
    read() {
      try {
        const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
        return Array.isArray(content) ? content : [content]
      } catch (error) {
        throw new TypeError(`checkAgainst: cannot read ${file}: ${String(error)}`, { cause: error })
      }
    },
  }))
}

/** Counts by name and version. */
class Counts {
  readonly #counts = new Map<string, number>()

  /** Counts one more, unless there are as many as allowed. */
  take({ name, version }: WorkflowName, limit: number): boolean {
    const key = `${name} ${version}`
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    return count < limit
  }
}

class ExportedHistories implements Histories {
  readonly #batches: readonly Batch[]
  readonly #values: Values
  readonly #unchecked = new Map<string, Unchecked>()

  constructor(batches: readonly Batch[], values: Values) {
    this.#batches = batches
    this.#values = values
  }

  get total(): number {
    return this.#batches.length
  }

  async *candidates(
    { running, recent }: Limits,
    registered: Registered,
  ): AsyncGenerator<Candidate> {
    const counts = { running: new Counts(), recent: new Counts() }
    for (const { place, read } of this.#batches) {
      for (const exported of read()) {
        const candidate = toCandidate(exported, this.#values, `checkAgainst${place}`)
        const { workflow, isFinished } = candidate
        if (!registered.has(workflow)) {
          if (!isFinished) this.#leaveOut(candidate)
        } else if (
          isFinished ? counts.recent.take(workflow, recent) : counts.running.take(workflow, running)
        ) {
          yield candidate
        }
      }
    }
  }

  unchecked(): readonly Unchecked[] {
    return [...this.#unchecked.values()]
  }

  async close(): Promise<void> {}

  #leaveOut({ id, workflow }: Candidate): void {
    const key = `${workflow.name} ${workflow.version}`
    const { count, examples } = this.#unchecked.get(key) ?? { count: 0, examples: [] }
    this.#unchecked.set(key, { ...workflow, count: count + 1, examples: [...examples, id] })
  }
}

/** An export as it would be stored. */
export function toCandidate(exported: unknown, values: Values, verb: string): Candidate {
  const read = readExported(exported, values, verb)
  const { id, workflow: name, version, execution, moments, isRedacted } = read
  return {
    id,
    workflow: { name, version },
    execution,
    turns: turnsOf(execution, moments),
    isRedacted,
    isFinished: moments.at(-1)!.event.type === 'ended',
  }
}

class StoredHistories implements Histories {
  readonly #reader: HistoryReader
  /** Reads what compression or encryption wrote. */
  readonly #items: ItemWrapper | undefined
  #total = 0
  #unchecked: Unchecked[] = []

  constructor(reader: HistoryReader, chain: TransformChain | undefined) {
    this.#reader = reader
    this.#items = chain && new ItemWrapper(chain)
  }

  get total(): number {
    return this.#total
  }

  async *candidates(
    { running, recent }: Limits,
    registered: Registered,
  ): AsyncGenerator<Candidate> {
    const reader = this.#reader
    const all = await reader.workflows()
    const names = new Map(all.map((one) => [one.workflow, one]))
    const known = all.filter((one) => registered.has(one))
    for (const { workflow, name, version, unfinished: count } of all) {
      if (count === 0 || registered.has({ name, version })) continue
      const rows = registered.hasName(name) ? await reader.unfinished(workflow, SOME) : []
      this.#unchecked.push({ name, version, count, examples: rows.map(({ id }) => id) })
    }
    const unfinished: RecordedInstance[] = []
    for (const { workflow } of known) {
      if (running > 0) unfinished.push(...(await reader.unfinished(workflow, running)))
    }
    const numbers = known.map(({ workflow }) => workflow)
    const finished = recent > 0 ? await reader.finished(numbers, recent) : []
    this.#total = unfinished.length + finished.length
    for (const [found, isFinished] of [[unfinished, false] as const, [finished, true] as const]) {
      for (const { iid, id, workflow, execution } of found) {
        const rows = await reader.turns(iid, execution)
        const items = this.#items
        const turns = items === undefined ? rows : rows.map((row) => items.unwrapRow(iid, row))
        // It was removed, or has continued as new, since.
        if (turns.length === 0) continue
        yield { id, workflow: names.get(workflow)!, execution, turns, isFinished }
      }
    }
  }

  unchecked(): readonly Unchecked[] {
    return this.#unchecked
  }

  close(): Promise<void> {
    return this.#reader.close()
  }
}

const SOME = 5

/** Where histories can come from. */
export type HistorySource = string | Store | ExportedHistory | readonly ExportedHistory[]
