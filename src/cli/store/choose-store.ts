import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Surroundings } from '../args/command.ts'
import { EXIT, CliError } from '../errors/cli-error.ts'
import { addressWithoutPassword } from '../errors/redact.ts'
import { readConfig } from './config.ts'

/** The store that a command is about. */
export type StoreChoice =
  | { readonly kind: 'sqlite'; readonly url: string; readonly path: string }
  | { readonly kind: 'memory'; readonly url: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

type Wishes = Pick<Surroundings, 'terminal' | 'store' | 'schema'>

/** Where `dev` notes its store while it runs. */
const DEV_FILE = join('.holdfast', 'dev.json')

/** Finds the store: `--store`, `HOLDFAST_STORE`, the `package.json` of the project, or that of `dev`. */
export function findStore(wishes: Wishes): StoreChoice | undefined {
  const { url, schema } = settingsOf(wishes)
  return url === undefined ? undefined : choiceOf(url, schema, wishes)
}

/**
 * The schema on PostgreSQL: `--schema`, `HOLDFAST_SCHEMA`, that of the `dev` whose store is meant, the
 * `package.json` of the project, or the usual one.
 */
export function schemaOf(wishes: Wishes): string {
  return settingsOf(wishes).schema
}

function settingsOf({ terminal, store, schema }: Wishes): {
  readonly url: string | undefined
  readonly schema: string
} {
  const { env, cwd } = terminal.io
  const config = readConfig(cwd)
  const named = store ?? filled(env['HOLDFAST_STORE']) ?? config.store
  const dev = named === undefined ? readDevFile(cwd) : {}
  return {
    url: named ?? dev.store,
    schema: schema ?? filled(env['HOLDFAST_SCHEMA']) ?? dev.schema ?? config.schema ?? 'holdfast',
  }
}

/** The same; throws when there is none. */
export function requireStore(wishes: Wishes): StoreChoice {
  const found = findStore(wishes)
  if (found !== undefined) return found
  const left = existsSync(join(wishes.terminal.io.cwd, '.holdfast', 'dev.db'))
    ? '; `dev` is not running; its store is --store file:.holdfast/dev.db'
    : ''
  throw new CliError(
    'which store? Give --store file:<path> or --store postgres://…, set HOLDFAST_STORE, or add ' +
      `"holdfast": { "store": "file:app.db" } to package.json${left}`,
    EXIT.usage,
  )
}

function choiceOf(url: string, schema: string, wishes: Wishes): StoreChoice {
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgres', url, schema }
  // One that is configured may be meant for another store of the project.
  if (wishes.schema !== undefined && url !== '') {
    throw new CliError(`a schema is for PostgreSQL only; the store is ${nameOf(url)}`, EXIT.usage)
  }
  if (url === 'memory:') return { kind: 'memory', url }
  const file = /^file:(.+)/.exec(url)?.[1]
  if (file !== undefined) {
    const path = resolve(wishes.terminal.io.cwd, file)
    return { kind: 'sqlite', url: `file:${path}`, path }
  }
  const hint = /^[a-z+]{2,}:/i.test(url) ? '' : `; did you mean "file:${url}"?`
  throw new CliError(
    `the store must begin with "file:" or "postgres://", got "${nameOf(url)}"${hint}`,
    EXIT.usage,
  )
}

/** A store as it may be shown: an unknown address may have a password anywhere. */
function nameOf(url: string): string {
  return /^(file|memory):/.test(url) || !url.includes(':') ? url : `${url.split(':')[0]}:…`
}

/** A store as it may be shown. */
export function storeName(choice: StoreChoice): string {
  if (choice.kind !== 'postgres') return choice.url
  const name = addressWithoutPassword(choice.url)
  return choice.schema === 'holdfast' ? name : `${name} (schema "${choice.schema}")`
}

/** Notes the store of this process, which is a `dev`, for other commands in this folder. */
export function writeDevFile(cwd: string, choice: StoreChoice): void {
  const schema = choice.kind === 'postgres' ? { schema: choice.schema } : {}
  const text = JSON.stringify({ store: choice.url, ...schema, pid: process.pid })
  // The address may have a password.
  writeFileSync(join(cwd, DEV_FILE), text, { mode: 0o600 })
}

/** Removes the note. */
export function removeDevFile(cwd: string): void {
  rmSync(join(cwd, DEV_FILE), { force: true })
}

/** The process of a `dev` that runs in this folder. */
export function pidOfDev(cwd: string): number | undefined {
  const { pid } = readDevFile(cwd)
  if (pid === undefined) return undefined
  try {
    process.kill(pid, 0)
    return pid
  } catch (error) {
    // Another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : undefined
  }
}

interface DevNote {
  readonly store?: string
  readonly schema?: string
  readonly pid?: number
}

function readDevFile(cwd: string): DevNote {
  try {
    const note: unknown = JSON.parse(readFileSync(join(cwd, DEV_FILE), 'utf8'))
    const { store, schema, pid } = note as { readonly [K in keyof DevNote]: unknown }
    return {
      ...(typeof store === 'string' && { store }),
      ...(typeof schema === 'string' && { schema }),
      ...(typeof pid === 'number' && { pid }),
    }
  } catch {
    return {}
  }
}

function filled(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
