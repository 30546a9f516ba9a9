import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { AnyActivity, AnyWorkflow } from '../../../index.ts'
import { CliError, EXIT, unknownWord, UsageError } from '../../errors/cli-error.ts'
import { importModule } from '../../input/import-module.ts'
import type { Io } from '../../output/terminal.ts'
import { readConfig } from '../../store/config.ts'

/** The modules that a command line names, or else those of `package.json`. */
export function modulePaths(given: readonly string[], { cwd }: Io): readonly string[] {
  const paths = given.length > 0 ? given.map((path) => resolve(cwd, path)) : readConfig(cwd).modules
  if (paths.length === 0) {
    throw new UsageError(
      'which module? Give the path of one that exports workflows, or add ' +
        '"holdfast": { "modules": "src/workflows.ts" } to package.json',
    )
  }
  for (const path of paths) {
    if (!existsSync(path)) throw new CliError(`there is no file ${path}`, EXIT.notFound)
  }
  return paths
}

/** A workflow or an activity; without `run` it is a contract. */
type Definition = (AnyWorkflow | AnyActivity) & { readonly run?: unknown }

/** Loads modules; returns what each of them defines, for `open`. */
export async function loadModules(
  paths: readonly string[],
  io: Io,
): Promise<readonly (readonly Definition[])[]> {
  const modules: (readonly Definition[])[] = []
  for (const path of paths) {
    const exported = await importModule(path, io)
    const definitions = Object.values(exported).filter(isDefinition)
    if (definitions.length === 0) {
      throw new CliError(
        `${path} exports no workflow and no activity: write \`export const order = workflow('order', …)\``,
      )
    }
    modules.push(definitions)
  }
  return modules
}

/** Throws if one of these workflows is not in the modules, and says what was probably meant. */
export function checkRegistered(
  command: string,
  modules: readonly (readonly Definition[])[],
  workflows: readonly string[],
): void {
  const names = modules
    .flat()
    .filter(({ kind, run }) => kind === 'workflow' && run !== undefined)
    .map(({ name }) => name)
  const unknown = workflows.find((name) => !names.includes(name))
  if (unknown !== undefined) throw unknownWord(command, 'workflow', unknown, [...new Set(names)])
}

function isDefinition(value: unknown): value is Definition {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind
  return kind === 'workflow' || kind === 'activity'
}
