import type { OpenOptions, Runtime } from '../../../index.ts'
import { command, type OptionSpec } from '../../args/command.ts'
import { EXIT } from '../../errors/cli-error.ts'
import { durationValue, wordValue } from '../../input/values.ts'
import { safeText } from '../../output/safe-text.ts'
import { requireStore, storeName } from '../../store/choose-store.ts'
import { loadCodec } from '../../store/load-codec.ts'
import { storeOf } from '../../store/with-client.ts'
import { loadModules, modulePaths } from './load-modules.ts'
import { LEVELS, logLines } from './log-lines.ts'

/** Options of commands that run workflows. */
export const RUNNING_OPTIONS = {
  drain: {
    type: 'string',
    value: '<duration>',
    help: 'how long running activities may take to finish when it stops (default: 10s)',
  },
  tags: {
    type: 'string',
    value: '<tags>',
    help: 'which activities run here: tags with commas, any or none',
  },
  log: {
    type: 'string',
    value: '<format>',
    words: ['text', 'json'],
    help: 'text or json (default: text)',
  },
  'log-level': {
    type: 'string',
    value: '<level>',
    words: LEVELS,
    help: `${LEVELS.join(', ')} (default: info)`,
  },
} as const satisfies Readonly<Record<string, OptionSpec>>

export const start = command({
  name: 'start',
  summary: 'run the workflows of a module until it is stopped',
  details:
    'The module exports workflows and activities. SIGTERM and Ctrl-C stop in order: nothing new begins, running\n' +
    'activities may finish, and other runtimes continue at once. A second signal ends the process at once.',
  args: [
    {
      name: 'module',
      help: 'modules that export workflows (default: "modules" of "holdfast" in package.json)',
      optional: true,
      many: true,
    },
  ],
  options: RUNNING_OPTIONS,
  examples: [
    { line: 'holdfast start shop.ts', what: 'until SIGTERM' },
    { line: 'holdfast start shop.ts --log json --drain 20s', what: 'in a container' },
  ],
  ownsSignals: true,
  run: async (call) => {
    const { terminal, options } = call
    const stopped = stopSignal()
    const drain = durationValue(options.drain ?? '10s', '--drain')
    const choice = requireStore(call)
    const format = wordValue(options.log ?? 'text', '--log', ['text', 'json'])
    const level = wordValue(options['log-level'] ?? 'info', '--log-level', LEVELS)
    const log = logLines(terminal, format, level, call.isVerbose)
    const { open } = await import('../../../index.ts')
    const modules = await loadModules(modulePaths(call.args, terminal.io), terminal.io)
    const runtime = await open(await storeOf(choice), {
      register: modules,
      log,
      ...tagsOf(options.tags),
      ...(await loadCodec(call)),
    })
    const workflows = namesOf(modules)
    const store = storeName(choice)
    if (format === 'json') log.info({ workflows, store }, 'running workflows')
    else {
      terminal.note(`running ${safeText(workflows)} on ${safeText(store)}; stop with Ctrl-C`)
    }
    await stopped
    const stopping = `stopping: running activities may finish within ${drain}`
    if (format === 'json') log.info({}, stopping)
    else terminal.note(stopping)
    await stop(runtime, drain)
    return EXIT.ok
  },
})

function tagsOf(tags: string | undefined): Pick<OpenOptions, 'tags'> {
  if (tags === undefined) return {}
  const isWord = tags === 'any' || tags === 'none'
  return { tags: isWord ? tags : tags.split(',').map((tag) => tag.trim()) }
}

function namesOf(modules: readonly unknown[]): string {
  const definitions = modules.flat() as { kind: string; name: string; version?: string }[]
  const workflows = definitions.filter(({ kind }) => kind === 'workflow')
  const shown = workflows.length > 0 ? workflows : definitions
  return shown.map(({ name, version }) => [name, version].filter(Boolean).join(' ')).join(', ')
}

/** Resolves at the first signal; the second one ends the process. */
export function stopSignal(): Promise<void> {
  const codes = { SIGINT: EXIT.interrupted, SIGTERM: 143 } as const
  return new Promise((resolve) => {
    // Started by `dev`, which was killed: it could not send a signal.
    process.once('disconnect', () => resolve())
    process.channel?.unref()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(codes[signal]))
        resolve()
      })
    }
  })
}

async function stop(
  runtime: Runtime,
  drain: NonNullable<Parameters<Runtime['close']>[0]>['drain'],
): Promise<void> {
  await runtime.close(drain === undefined ? {} : { drain })
}
