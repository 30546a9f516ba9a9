import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError, EXIT } from '../errors/cli-error.ts'
import { placeOf } from '../errors/stacks.ts'
import type { Io } from '../output/terminal.ts'

/** Loads a module of the user, also one in TypeScript. Relative paths are those of the shell. */
export async function importModule(path: string, io: Io): Promise<Record<string, unknown>> {
  const file = resolve(io.cwd, path)
  if (!existsSync(file)) throw new CliError(`there is no file ${file}`, EXIT.notFound)
  if (/\.[cm]?tsx?$/.test(file)) await prepareTypeScript(io)
  const loaded = await load(file)
  // Of a file that was compiled to CommonJS, Node may find no names.
  const inner = loaded['default'] as Record<string, unknown> | undefined
  return inner?.['__esModule'] === true ? inner : loaded
}

async function load(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof SyntaxError) || !error.message.includes('outside a module')) {
      throw withPlace(error)
    }
    // What `npm init` writes into package.json makes it CommonJS.
    throw new CliError(
      `${file} is an ES module, but package.json says otherwise: set "type": "module" there ` +
        '(npm pkg set type=module), or name the file .mts or .mjs',
      EXIT.failed,
      { cause: error },
    )
  }
}

/** The error of a module while it was loaded, with the line that threw it. */
function withPlace(error: unknown): unknown {
  const place = placeOf(error)
  if (place === undefined || !(error instanceof Error) || error.message.includes(place)) {
    return error
  }
  return new CliError(`${error.name}: ${error.message} (${place})`, EXIT.failed, { cause: error })
}

let isPrepared = false

/** Later lines of Node read TypeScript by themselves; for earlier ones, `tsx` does it. */
async function prepareTypeScript({ cwd }: Io): Promise<void> {
  if (isPrepared || (process.features as { typescript?: unknown }).typescript) return
  const require = createRequire(pathToFileURL(join(cwd, 'index.js')))
  let commonJs: string
  let esm: string
  try {
    commonJs = require.resolve('tsx/cjs/api')
    // What is found for `require` cannot register itself for ES modules; its neighbour can.
    esm = require.resolve('tsx/esm/api').replace(/\.cjs$/, '.mjs')
  } catch {
    throw new CliError(
      `Node ${process.version} does not run TypeScript: npm install --save-dev tsx, ` +
        'use Node 22.18 or later, or give a module that is compiled',
    )
  }
  // Without "type": "module" in package.json, a file in TypeScript is a CommonJS module.
  ;(require(commonJs) as Registers).register()
  ;((await import(pathToFileURL(esm).href)) as Registers).register()
  isPrepared = true
}

interface Registers {
  readonly register: () => unknown
}
