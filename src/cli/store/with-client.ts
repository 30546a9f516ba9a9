import { accessSync, constants, existsSync, statSync } from 'node:fs'
import type { Client, Store } from '../../index.ts'
import type { Logger } from '../../base/log.ts'
import type { Surroundings } from '../args/command.ts'
import { EXIT, CliError, messageOf, withoutOperation } from '../errors/cli-error.ts'
import { toJson } from '../output/plain-json.ts'
import { safeText } from '../output/safe-text.ts'
import { withoutPasswords } from '../errors/redact.ts'
import { loadCodec } from './load-codec.ts'
import { requireStore, type StoreChoice, storeName } from './choose-store.ts'

/**
 * Calls `work` with a client of the store, and closes it.
 *
 * Commands of this kind neither create a store nor upgrade one: a wrong address must not leave tables in
 * another database, and looking at a store must not upgrade it under older processes.
 */
export async function withClient<T>(
  surroundings: Surroundings,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const choice = requireStore(surroundings)
  await checkExists(choice)
  const { connect } = await import('../../index.ts')
  const client = connect(await storeOf(choice), {
    ...(await loadCodec(surroundings)),
    log: notesOf(surroundings),
    connectTimeout: '5s',
  })
  try {
    return await work(client)
  } catch (error) {
    if (choice.kind !== 'sqlite' || !isDamage(error) || names(error, choice)) throw error
    const words = `${choice.path} is damaged: ${messageOf(error)}; run \`holdfast doctor\``
    throw new CliError(words, EXIT.failed, { cause: error })
  } finally {
    await client.close()
  }
}

function names(error: unknown, { path }: { readonly path: string }): boolean {
  return error instanceof Error && error.message.includes(path)
}

/** Whether SQLite says that a file is damaged. Errors of stores have the one of the driver as cause. */
export function isDamage(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  const { code, errcode } = thrown as { code?: unknown; errcode?: unknown }
  if (code === 'corrupt' || String(code).startsWith('SQLITE_CORRUPT')) return true
  // node:sqlite has the number.
  if (typeof errcode === 'number' && (errcode & 0xff) === 11) return true
  return isDamage(thrown.cause)
}

/** The store behind a choice, for `open` and `connect`. */
export async function storeOf(choice: StoreChoice): Promise<Store | string> {
  if (choice.kind !== 'postgres') return choice.url
  const { postgres } = await import('../../postgres/index.ts')
  return postgres({ url: choice.url, schema: choice.schema })
}

/** Throws unless the store was created, and is as new as this version. */
export async function checkExists(choice: StoreChoice): Promise<void> {
  if (choice.kind === 'memory') {
    throw new CliError('memory: is not shared: only `run` and `dev` can use it', EXIT.usage)
  }
  const { state, detail } = await statusOf(choice)
  if (state === 'missing') throw new CliError(missingWords(choice), EXIT.notFound)
  if (state === 'behind') {
    throw new CliError(`${detail}; run \`holdfast migrate\`, or use the version of its runtimes`)
  }
  if (state !== 'refused') return
  throw new CliError(
    choice.kind === 'sqlite' && detail.includes(choice.path)
      ? detail
      : `${storeName(choice)}: ${detail}`,
  )
}

/** How the schema of a store compares with this version. */
export async function statusOf(
  choice: Exclude<StoreChoice, { kind: 'memory' }>,
  outbox?: string,
): Promise<{ state: string; detail: string; missing: readonly string[] }> {
  if (choice.kind === 'postgres') {
    const { schemaStatus } = await import('../../postgres/index.ts')
    return schemaStatus({ url: choice.url, schema: choice.schema, outbox })
  }
  const { schemaStatus } = await import('../../sqlite/index.ts')
  checkFile(choice.path)
  const status = await schemaStatus({ path: choice.path, outbox })
  return { ...status, detail: withoutOperation(status.detail) }
}

/** Throws with the path if a file that is there cannot be a database: SQLite would not name it. */
function checkFile(path: string): void {
  if (!existsSync(path)) return
  if (!statSync(path).isFile()) throw new CliError(`${path} is not a file`)
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch {
    throw new CliError(`this user may not read and write ${path}`)
  }
}

function missingWords(choice: StoreChoice): string {
  const hint = 'check the address, or create it with `holdfast migrate`'
  if (choice.kind === 'sqlite') {
    return existsSync(choice.path)
      ? `${choice.path} is empty: ${hint}`
      : `there is no file ${choice.path}: ${hint}`
  }
  const schema = choice.kind === 'postgres' ? choice.schema : ''
  return `there is no store in schema "${schema}" of ${storeName({ ...choice, schema: 'holdfast' } as StoreChoice)}: ${hint}`
}

/** Log lines of a client as notes; warnings only if asked for, since they repeat what commands report. */
export function notesOf({
  terminal,
  isVerbose,
}: Pick<Surroundings, 'terminal' | 'isVerbose'>): Logger {
  const note = (data: object, message = ''): void => {
    const err = (data as { err?: unknown }).err
    const detail = err instanceof Error ? `: ${err.message}` : ''
    const rest = Object.entries(data).filter(([key]) => key !== 'err')
    const keys = rest.map(([key, value]) => ` ${key}=${toJson(value, undefined, withoutPasswords)}`)
    const text = `${withoutPasswords(`${message}${detail}`)}${keys.join('')}`
    terminal.note(terminal.styleNote('dim', safeText(text)))
  }
  return {
    debug() {},
    info() {},
    // What a start warns of is about this command line.
    warn: (data, message = '') =>
      void ((isVerbose || message.startsWith('start: ')) && note(data, message)),
    error: note,
  }
}
