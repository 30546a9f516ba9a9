import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { command } from '../../args/command.ts'
import { CliError, EXIT } from '../../errors/cli-error.ts'
import { countValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { Progress } from '../../output/progress.ts'
import { safeLines } from '../../output/safe-text.ts'
import type { Io } from '../../output/terminal.ts'
import { requireStore } from '../../store/choose-store.ts'
import { loadCodec } from '../../store/load-codec.ts'
import { checkExists, storeOf } from '../../store/with-client.ts'
import { checkRegistered, loadModules, modulePaths } from './load-modules.ts'

export const check = command({
  name: 'check',
  summary: 'replay running and recent instances with the code of a module, before you deploy it',
  details:
    'It only reads, and runs no activity. The exit code is 1 if the code would break an instance: the report says\n' +
    'at which command and line, and what would keep it.',
  args: [
    {
      name: 'module',
      help: 'modules that export workflows (default: "modules" of "holdfast" in package.json)',
      optional: true,
      many: true,
    },
  ],
  options: {
    from: {
      type: 'string',
      value: '<path>',
      help: 'exported histories, a file or a folder, instead of the store',
    },
    workflow: { type: 'string', multiple: true, value: '<name>', help: 'only this workflow' },
    running: {
      type: 'string',
      value: '<count>',
      help: 'most unfinished instances (default: 1000)',
    },
    recent: { type: 'string', value: '<count>', help: 'most ended instances (default: 100)' },
  },
  examples: [
    { line: 'holdfast check shop.ts', what: 'against the store' },
    { line: 'holdfast check shop.ts --from order-9.json', what: 'against exported histories' },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    const modules = await loadModules(modulePaths(call.args, terminal.io), terminal.io)
    checkRegistered('check', modules, options.workflow)
    const from = exported(options.from, terminal.io) ?? (await existingStore(call))
    const { checkAgainst } = await import('../../../testing/index.ts')
    let progress: Progress | undefined
    let seen = 0
    const result = await checkAgainst(from, {
      register: modules,
      ...(await loadCodec(call)),
      ...(options.workflow.length > 0 && { workflows: options.workflow }),
      ...(options.running !== undefined && {
        running: countValue(options.running, '--running', 0),
      }),
      ...(options.recent !== undefined && { recent: countValue(options.recent, '--recent', 0) }),
      onProgress: ({ checked, total }) => {
        progress ??= new Progress(terminal, 'check', total)
        progress.add(checked - seen)
        seen = checked
      },
    }).finally(() => progress?.end())
    if (format === 'json') terminal.print(toJson(result, 2))
    else terminal.print(safeLines(result.report))
    return result.ok ? EXIT.ok : EXIT.failed
  },
})

/** Where exported histories are. */
function exported(path: string | undefined, { cwd }: Io): string | undefined {
  // The address of a store is looked at elsewhere.
  if (path === undefined || /^\w{2,}:/.test(path)) return path
  const found = resolve(cwd, path)
  if (!existsSync(found)) throw new CliError(`there is no file ${path}`, EXIT.notFound)
  return found
}

async function existingStore(
  call: Parameters<typeof requireStore>[0],
): Promise<Awaited<ReturnType<typeof storeOf>>> {
  const choice = requireStore(call)
  await checkExists(choice)
  return storeOf(choice)
}
