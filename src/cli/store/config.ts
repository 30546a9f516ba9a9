import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { describe } from '../../base/describe.ts'
import { option, resolveOptions } from '../../base/options.ts'
import { isPlainObject } from '../../base/plain-object.ts'
import { EXIT, CliError } from '../errors/cli-error.ts'

/** What `"holdfast"` of a `package.json` may say. */
export interface Config {
  readonly store: string | undefined
  readonly schema: string | undefined
  /** The module of the codec that its processes use. */
  readonly codec: string | undefined
  /** The modules that `dev` and `start` run. */
  readonly modules: readonly string[]
}

const NONE: Config = { store: undefined, schema: undefined, codec: undefined, modules: [] }

/**
 * Reads `"holdfast"` of the nearest `package.json`, here or in a folder above. Paths in it are relative to
 * that file.
 */
export function readConfig(cwd: string): Config {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, 'package.json')
    const text = textOf(path)
    if (text !== undefined) return configOf(path, text)
    if (dirname(folder) === folder) return NONE
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function configOf(path: string, text: string): Config {
  try {
    const manifest: unknown = JSON.parse(text)
    const given = isPlainObject(manifest) ? manifest['holdfast'] : undefined
    if (given === undefined) return NONE
    const { store, schema, codec, modules } = resolveOptions('"holdfast"', given as object, {
      store: option(textValue, undefined),
      schema: option(textValue, undefined),
      codec: option(textValue, undefined),
      modules: option(listOfTexts, []),
    })
    const folder = dirname(path)
    return {
      store: store === undefined ? undefined : storeFrom(folder, store),
      schema,
      codec: codec === undefined ? undefined : resolve(folder, codec),
      modules: modules.map((module) => resolve(folder, module)),
    }
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    throw new CliError(`${path}: ${words}`, EXIT.usage)
  }
}

function storeFrom(folder: string, store: string): string {
  const file = /^file:(.+)/.exec(store)?.[1]
  return file === undefined || isAbsolute(file) ? store : `file:${join(folder, file)}`
}

function textValue(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${what} must be a non-empty string, got ${describe(value)}`)
}

function listOfTexts(value: unknown, what: string): readonly string[] {
  if (typeof value === 'string') return [textValue(value, what)]
  if (Array.isArray(value)) return value.map((item, i) => textValue(item, `${what}[${i}]`))
  throw new TypeError(`${what} must be a path or a list of paths, got ${describe(value)}`)
}
