import { describe } from '../base/describe.ts'
import {
  having,
  list,
  number,
  oneOf,
  option,
  type Resolved,
  resolveOptions,
} from '../base/options.ts'
import { isPlainObject } from '../base/plain-object.ts'
import type { Outbox } from '../outbox/index.ts'
import type { Queue } from '../queue/index.ts'
import type { ApiFinding } from './api.ts'
import { hostName } from './guard.ts'

/** Options of a dashboard. */
export interface DashboardOptions {
  /**
   * Lets those who have it change things: cancel, resume, delete, send. At least 16 characters. The pages get it
   * from the fragment of their address, which browsers do not send, and send it in a header.
   *
   * @default none: nothing can be changed
   */
  token?: string
  /**
   * What the token is needed for. With `everything` nothing of the store can be read without it. Without
   * a login in front of it, a dashboard that others can reach needs `everything`.
   *
   * @default 'writes'; 'everything' where `listen` is given a host that is not loopback
   */
  tokenFor?: 'writes' | 'everything'
  /** Where it is mounted, such as `/admin/holdfast`. @default '/' */
  basePath?: string
  /**
   * Names under which it is reached, such as `ops.example.com`. Without them it answers under `localhost`, under
   * IP addresses and under the host that `listen` was given: another site could point one of its own names at it.
   *
   * @default none
   */
  hosts?: readonly string[]
  /** An outbox to show: `outbox(client)`. @default none */
  outbox?: Outbox
  /** Queues to show, by name. @default none */
  queues?: Readonly<Record<string, Queue<unknown>>>
  /**
   * Examines the store when someone asks, as `doctor` of `holdfast/postgres` does:
   * `() => doctor({ url })`.
   *
   * @default none
   */
  doctor?: () => Promise<readonly ApiFinding[]>
  /** How many live views may be open at once. One more is answered with status 503. @default 200 */
  maxStreams?: number
}

/** Where a dashboard listens. */
export interface ListenOptions {
  /** @default 4747, or any that is free if that one is taken */
  port?: number
  /** A host that is not loopback needs a token. @default '127.0.0.1' */
  host?: string
}

const MIN_TOKEN = 16

const OPTIONS = {
  token: option(checkToken, undefined),
  tokenFor: oneOf(['writes', 'everything'], 'writes'),
  basePath: option(checkBasePath, ''),
  hosts: list(checkHost),
  outbox: option(having<Outbox>('an outbox', ['stats']), undefined),
  queues: option(checkQueues, new Map<string, Queue<unknown>>()),
  doctor: option(checkFunction, undefined),
  maxStreams: number({ min: 1, max: 100_000, integer: true }, 200),
}

/** Options, checked and complete. */
export type ResolvedOptions = Resolved<typeof OPTIONS>

/** Checks options. */
export function dashboardOptions(given: DashboardOptions | undefined): ResolvedOptions {
  const options = resolveOptions('dashboard', given, OPTIONS)
  if (options.tokenFor === 'everything' && options.token === undefined) {
    throw new TypeError(`dashboard: tokenFor 'everything' needs a token`)
  }
  return options
}

/** The port that is tried when none is given. */
export const DEFAULT_PORT = 4747

/** Checks where to listen. */
export function listenOptions(given: ListenOptions | undefined) {
  return resolveOptions('listen', given, {
    port: option(number({ min: 0, max: 65_535, integer: true }, 0).check, undefined),
    host: option(checkHost, '127.0.0.1'),
  })
}

function checkToken(value: unknown, what: string): string {
  // What a header can have. The value is a secret: it is not in the message.
  if (typeof value === 'string' && value.length >= MIN_TOKEN && /^[\x21-\x7e]+$/.test(value)) {
    return value
  }
  throw new TypeError(
    `${what} must be a string of at least ${MIN_TOKEN} ASCII characters without spaces`,
  )
}

/** Without a slash at the end, so that an address follows it as it is. */
function checkBasePath(value: unknown, what: string): string {
  const path = typeof value === 'string' ? value.replace(/\/+$/, '') : undefined
  const segments = path?.split('/').slice(1) ?? []
  const isFine =
    path === '' ||
    (path?.startsWith('/') && segments.every((one) => /^[\w.~-]+$/.test(one) && !/^\.+$/.test(one)))
  if (path !== undefined && isFine) return path
  throw new TypeError(
    `${what} must be a path such as "/admin/holdfast" of letters, digits, ., _, ~ and -, got ${describe(value)}`,
  )
}

function checkHost(value: unknown, what: string): string {
  const name = typeof value === 'string' ? (hostName(value) ?? hostName(`[${value}]`)) : undefined
  if (name !== undefined) return name
  throw new TypeError(`${what} must be a name or an address of a host, got ${describe(value)}`)
}

function checkQueues(value: unknown, what: string): ReadonlyMap<string, Queue<unknown>> {
  if (!isPlainObject(value)) {
    throw new TypeError(`${what} must be an object with queues by name, got ${describe(value)}`)
  }
  const check = having<Queue<unknown>>('a queue', ['push', 'take'])
  return new Map(
    Object.entries(value).map(([name, queue]) => [name, check(queue, `${what}.${name}`)]),
  )
}

function checkFunction(value: unknown, what: string): NonNullable<DashboardOptions['doctor']> {
  if (typeof value === 'function') return value as NonNullable<DashboardOptions['doctor']>
  throw new TypeError(`${what} must be a function, got ${describe(value)}`)
}
