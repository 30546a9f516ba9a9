// Checks what callers pass to find instances, and turns it into what the store is asked.

import { describe } from '../../base/describe.ts'
import { number, oneOf, option, resolveOptions } from '../../base/options.ts'
import { isPlainObject } from '../../base/plain-object.ts'
import type { InstanceQuery, SearchPosition, StartedStatus } from '../../store/admin-store.ts'
import type { Filter, Page, Which } from '../define/admin.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { checkId } from '../define/names.ts'
import { checkLabels } from '../define/start-options.ts'

const STATUSES = [
  'scheduled',
  'running',
  'suspended',
  'completed',
  'failed',
  'cancelled',
  'terminated',
] as const satisfies readonly StartedStatus[]

/** Of instances that have not ended. */
export const UNFINISHED: readonly StartedStatus[] = ['scheduled', 'running', 'suspended']

/** Of instances that have ended. */
export const ENDED: readonly StartedStatus[] = ['completed', 'failed', 'cancelled', 'terminated']

const MAX_LIMIT = 1_000

const FILTER = {
  workflow: option(checkWorkflowName, null),
  version: option(checkText, null),
  status: option(checkStatuses, null),
  labels: option(checkLabelFilter, []),
  createdAfter: option(checkDate, null),
  createdBefore: option(checkDate, null),
  finishedAfter: option(checkDate, null),
  finishedBefore: option(checkDate, null),
  parentId: option(checkId, null),
  idPrefix: option(checkId, null),
}

/** What a filter asks of the store. */
export function queryOf(owner: string, filter: Filter | undefined): InstanceQuery {
  const given = resolveOptions(owner, filter, FILTER)
  return {
    workflow: given.workflow,
    version: given.version,
    statuses: given.status,
    labels: given.labels,
    createdFrom: given.createdAfter,
    createdUntil: given.createdBefore,
    finishedFrom: given.finishedAfter,
    finishedUntil: given.finishedBefore,
    parent: given.parentId,
    idPrefix: given.idPrefix,
    minExecution: 1,
    order: 'newest',
  }
}

/** The same query, for instances in one of these states only. */
export function among(query: InstanceQuery, statuses: readonly StartedStatus[]): InstanceQuery {
  const wanted = query.statuses ?? statuses
  return { ...query, statuses: wanted.filter((status) => statuses.includes(status)) }
}

/** Ids without repetitions, or a query. */
export function whichOf(owner: string, which: Which): readonly string[] | InstanceQuery {
  if (Array.isArray(which)) {
    const ids = (which as readonly unknown[]).map((id, i) => checkId(id, `${owner}: ids[${i}]`))
    return [...new Set(ids)]
  }
  // Without these checks, a forgotten argument or a variable that is not set would mean every instance.
  if (!isPlainObject(which)) {
    throw new TypeError(`${owner}: needs a list of ids or a filter, got ${describe(which)}`)
  }
  refuseUndefined(owner, which)
  return queryOf(owner, which)
}

/** Refuses options that are present but `undefined`, where leaving one out reaches more instances. */
export function refuseUndefined(owner: string, given: object | undefined): void {
  for (const [name, value] of Object.entries(given ?? {})) {
    if (value === undefined) {
      throw new TypeError(`${owner}: ${name} is undefined; leave it out to mean any`)
    }
  }
}

/** Whether instances are meant by a filter. */
export function isQuery(meant: readonly string[] | InstanceQuery): meant is InstanceQuery {
  return !Array.isArray(meant)
}

const PAGE = {
  limit: number({ min: 1, max: MAX_LIMIT, integer: true }, 100),
  after: option((value: unknown) => value, undefined),
  order: oneOf(['newest', 'oldest'], 'newest'),
}

/** A page of a list, checked. */
export interface ResolvedPage {
  readonly limit: number
  readonly after: SearchPosition | null
  readonly order: 'newest' | 'oldest'
}

/** Which page of a list of instances. */
export function pageOf(owner: string, page: Page | undefined): ResolvedPage {
  const { limit, after, order } = resolveOptions(owner, page, PAGE)
  if (after === undefined) return { limit, order, after: null }
  const [createdAt, iid] = readCursor(owner, order, after, 2)
  return { limit, order, after: { createdAt: createdAt!, iid: iid! } }
}

const TASK_PAGE = { limit: PAGE.limit, after: PAGE.after }

/** Which page of a list of tasks. */
export function taskPageOf(
  owner: string,
  page: Pick<Page, 'limit' | 'after'> | undefined,
): { limit: number; after: readonly number[] | null } {
  const { limit, after } = resolveOptions(owner, page, TASK_PAGE)
  return { limit, after: after === undefined ? null : readCursor(owner, 'tasks', after, 3) }
}

/** Encodes a position in a list as an opaque cursor. */
export function writeCursor(kind: string, place: readonly number[]): string {
  return Buffer.from(`${kind} ${place.join(' ')}`).toString('base64url')
}

function readCursor(owner: string, kind: string, cursor: unknown, count: number): number[] {
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  const [own, ...rest] = text.split(' ')
  const numbers = rest.map(Number)
  if (own === kind && numbers.length === count && numbers.every(Number.isSafeInteger))
    return numbers
  const hint =
    own === 'newest' || own === 'oldest' ? `, which is of a list in the order '${own}'` : ''
  throw new TypeError(
    `${owner}: after must be the next of an earlier page, got ${describe(cursor)}${hint}`,
  )
}

function checkWorkflowName(value: unknown, what: string): string {
  if (typeof value === 'string') return checkId(value, what)
  return checkWorkflow(what, value).name
}

function checkText(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new TypeError(`${what} must be a string, got ${describe(value)}`)
}

function checkStatuses(value: unknown, what: string): readonly StartedStatus[] {
  const words: readonly unknown[] = Array.isArray(value) ? value : [value]
  const check = oneOf(STATUSES, 'running').check
  return [...new Set(words.map((word) => check(word, what)))]
}

function checkLabelFilter(value: unknown, what: string): readonly (readonly [string, string])[] {
  return Object.entries(JSON.parse(checkLabels(value, what)) as Record<string, string>)
}

/** A date as the store has it: milliseconds since 1970. */
export function checkDate(value: unknown, what: string): number {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime()
  const got = value instanceof Date ? 'an invalid Date' : describe(value)
  throw new TypeError(`${what} must be a valid Date, got ${got}`)
}
