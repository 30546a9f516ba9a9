import { existsSync, readFileSync } from 'node:fs'
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
export const DEV_FILE = join('.holdfast', 'dev.json')

/** Finds the store: `--store`, `HOLDFAST_STORE`, the `package.json` of the project, or that of `dev`. */
export function findStore({ terminal, store, schema }: Wishes): StoreChoice | undefined {
  const { env, cwd } = terminal.io
  const config = readConfig(cwd)
  const url = store ?? filled(env['HOLDFAST_STORE']) ?? config.store ?? storeOfDev(cwd)
  if (url === undefined) return undefined
  return choiceOf(url, schema ?? filled(env['HOLDFAST_SCHEMA']) ?? config.schema, cwd)
}

/** The same; throws when there is none. */
export function requireStore(wishes: Wishes): StoreChoice {
  const found = findStore(wishes)
  if (found !== undefined) return found
  const left = existsSync(join(wishes.terminal.io.cwd, '.holdfast', 'dev.db'))
    ? '; `dev`, which does not run, has used --store file:.holdfast/dev.db'
    : ''
  throw new CliError(
    'which store? Give --store file:<path> or --store postgres://…, set HOLDFAST_STORE, or add ' +
      `"holdfast": { "store": "file:app.db" } to package.json${left}`,
    EXIT.usage,
  )
}

function choiceOf(url: string, schema: string | undefined, cwd: string): StoreChoice {
  if (/^postgres(ql)?:\/\//.test(url))
    return { kind: 'postgres', url, schema: schema ?? 'holdfast' }
  if (schema !== undefined && url !== '') {
    throw new CliError(`a schema is for PostgreSQL only; the store is ${nameOf(url)}`, EXIT.usage)
  }
  if (url === 'memory:') return { kind: 'memory', url }
  const file = /^file:(.+)/.exec(url)?.[1]
  if (file !== undefined) {
    const path = resolve(cwd, file)
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

/** The store of a `dev` that runs in this folder. */
function storeOfDev(cwd: string): string | undefined {
  const { store } = readDevFile(cwd)
  return typeof store === 'string' ? store : undefined
}

/** The process of a `dev` that runs in this folder. */
export function pidOfDev(cwd: string): number | undefined {
  const { pid } = readDevFile(cwd)
  if (typeof pid !== 'number') return undefined
  try {
    process.kill(pid, 0)
    return pid
  } catch (error) {
    // Another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : undefined
  }
}

function readDevFile(cwd: string): { readonly store?: unknown; readonly pid?: unknown } {
  try {
    return JSON.parse(readFileSync(join(cwd, DEV_FILE), 'utf8')) as { store?: unknown }
  } catch {
    return {}
  }
}

function filled(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
