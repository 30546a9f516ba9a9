// All addresses below `api/`, and how a request finds its route.

import { resolveOptions, unknownName } from '../base/options.ts'
import { ERROR_READS } from './errors.ts'
import { checked, Failure } from './failure.ts'
import { FLEET } from './fleet.ts'
import { INSTANCE_READS, INSTANCE_WRITES } from './instance.ts'
import { INSTANCE_LISTS, INSTANCE_VERBS } from './instances.ts'
import { MESSAGE_READS, MESSAGE_WRITES } from './messages.ts'
import { readQuery } from './parameters.ts'
import type { ReadRoute, Sources, WriteRoute } from './route.ts'
import { SCHEDULE_READS, SCHEDULE_WRITES } from './schedules.ts'

/** What is read, by the address below `api/`. */
export const READS: Readonly<Record<string, ReadRoute>> = {
  ...FLEET,
  ...ERROR_READS,
  ...INSTANCE_LISTS,
  ...INSTANCE_READS,
  ...SCHEDULE_READS,
  ...MESSAGE_READS,
}

/** What is written. */
export const WRITES: Readonly<Record<string, WriteRoute>> = {
  ...INSTANCE_VERBS,
  ...INSTANCE_WRITES,
  ...SCHEDULE_WRITES,
  ...MESSAGE_WRITES,
}

/** Answers a read. */
export async function answerRead(
  sources: Sources,
  name: string,
  query: URLSearchParams,
): Promise<unknown> {
  const { parameters, run } = readRoute(name)
  return run(sources, checked(() => readQuery(name, query, parameters)) as never)
}

/** Answers a write. */
export async function answerWrite(
  sources: Sources,
  name: string,
  body: Readonly<Record<string, unknown>>,
): Promise<object> {
  const { fields, run } = writeRoute(name)
  return run(sources, checked(() => resolveOptions(name, body, fields)) as never)
}

/** The route of this name. */
export function readRoute(name: string): ReadRoute {
  if (Object.hasOwn(READS, name)) return READS[name]!
  if (Object.hasOwn(WRITES, name)) throw new Failure('method_not_allowed', `use POST for ${name}`)
  throw notFound(name, Object.keys(READS))
}

function writeRoute(name: string): WriteRoute {
  if (Object.hasOwn(WRITES, name)) return WRITES[name]!
  if (Object.hasOwn(READS, name)) throw new Failure('method_not_allowed', `use GET for ${name}`)
  throw notFound(name, Object.keys(WRITES))
}

function notFound(name: string, known: readonly string[]): Failure {
  return new Failure('not_found', unknownName('api', 'path', name.slice(0, 200), known).message)
}
