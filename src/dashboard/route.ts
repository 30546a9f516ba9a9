// What a route is: parameters with their checks, and a function that answers.

import type { Option, Resolved } from '../base/options.ts'
import type { Clock } from '../base/time/clock.ts'
import type { Client } from '../index.ts'
import type { Outbox } from '../outbox/index.ts'
import type { Queue } from '../queue/index.ts'
import type { Access, ApiFinding, Meta } from './api.ts'
import type { BulkJobs } from './bulk-jobs.ts'
import type { Table } from './parameters.ts'

/** What routes read from and write to. */
export interface Sources {
  readonly client: Client
  readonly clock: Clock
  readonly outbox: Outbox | undefined
  readonly queues: ReadonlyMap<string, Queue<unknown>>
  readonly doctor: (() => Promise<readonly ApiFinding[]>) | undefined
  readonly jobs: BulkJobs
  readonly meta: Omit<Meta, keyof Access | 'at'>
}

/** Answers `GET` with JSON. */
export interface ReadRoute {
  readonly parameters: Table
  readonly run: (sources: Sources, given: never) => Promise<unknown>
  /** How often a live view of it looks, at most; none for what is read once. */
  readonly everyMs: number | undefined
}

/** Answers `POST`. */
export interface WriteRoute {
  readonly fields: Table
  readonly run: (sources: Sources, given: never) => Promise<object>
}

/** The fields that a request has: what checks each. */
export type FieldsOf<Request> = Readonly<Record<keyof Request, Option<unknown>>>

/** Defines a route that reads. */
export function read<T extends Table>(
  parameters: T,
  run: (sources: Sources, given: Resolved<T>) => Promise<unknown>,
  everyMs?: number,
): ReadRoute {
  return { parameters, run, everyMs }
}

/** Defines a route that writes. */
export function write<T extends Table>(
  fields: T,
  run: (sources: Sources, given: Resolved<T>) => Promise<object>,
): WriteRoute {
  return { fields, run }
}
