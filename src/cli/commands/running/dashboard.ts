import { command, type OptionSpec } from '../../args/command.ts'
import { CliError, EXIT, UsageError } from '../../errors/cli-error.ts'
import { aboutOption, countValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { safeText } from '../../output/safe-text.ts'
import { requireStore, storeName } from '../../store/choose-store.ts'
import { checkExists } from '../../store/with-client.ts'
import { openBrowser } from './open-browser.ts'
import { randomToken, serveDashboard } from './serve-dashboard.ts'
import { stopSignal } from './start.ts'

const TOKEN_VARIABLE = 'HOLDFAST_DASHBOARD_TOKEN'

const OPTIONS = {
  port: {
    type: 'string',
    value: '<port>',
    help: 'where to listen (default: 4747, or any that is free)',
  },
  host: {
    type: 'string',
    value: '<host>',
    help: 'an address that other machines reach; then even reading needs the token (default: 127.0.0.1)',
  },
  hosts: {
    type: 'string',
    multiple: true,
    value: '<name>',
    help: 'a name under which browsers reach it besides --host, such as that of a proxy',
  },
  write: {
    type: 'boolean',
    help: 'let those who have the printed address change things: it gets a random token',
  },
  token: {
    type: 'string',
    value: '<token>',
    help: 'the same with this token, of 16 characters or more (default: HOLDFAST_DASHBOARD_TOKEN)',
  },
  prefix: {
    type: 'string',
    value: '<prefix>',
    help: 'of the tables of the outbox (default: outbox)',
  },
  queue: {
    type: 'string',
    multiple: true,
    value: '<file>',
    help: 'a queue to show as well',
  },
  open: { type: 'boolean', help: 'open it in the browser' },
} as const satisfies Readonly<Record<string, OptionSpec>>

export const dashboard = command({
  name: 'dashboard',
  summary: 'serve pages that show a store, until it is stopped',
  details:
    'Prints the address of the pages. They are read-only, unless you give --write or --token. A token on the\n' +
    'command line can be seen by everyone on the machine: prefer HOLDFAST_DASHBOARD_TOKEN.',
  args: [],
  options: OPTIONS,
  examples: [
    { line: 'holdfast dashboard', what: 'to look at' },
    { line: 'holdfast dashboard --write --queue queue.db --port 0', what: 'to cancel, retry, …' },
  ],
  ownsSignals: true,
  run: async (call) => {
    const { terminal, options, format } = call
    const { host, port, prefix } = options
    const stopped = stopSignal()
    const token = tokenOf(options, terminal.io.env[TOKEN_VARIABLE])
    if (host !== undefined && token === undefined) {
      throw new UsageError('--host needs --write or --token', 'dashboard')
    }
    const choice = requireStore(call)
    await checkExists(choice)
    if (choice.kind === 'memory') return EXIT.usage
    await using shown = await serveDashboard(call, choice, {
      token,
      prefix,
      queues: options.queue,
      hosts: options.hosts,
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port: countValue(port, '--port', 0) }),
    }).catch((error: unknown) => {
      const tokenSource = options.token === undefined ? TOKEN_VARIABLE : '--token'
      const sources = {
        port: '--port',
        host: '--host',
        'hosts\\[\\d+\\]': '--hosts',
        token: tokenSource,
      }
      throw Object.entries(sources).reduce(
        (thrown, [argument, source]) => aboutOption(thrown, argument, source),
        portTaken(error, port),
      )
    })
    terminal.note(
      `the dashboard of ${safeText(storeName(choice))} is running ` +
        `${token === undefined ? 'and is read-only (see --write)' : 'and can change things'}; ` +
        'stop with Ctrl-C',
    )
    const { urlWithToken } = shown
    terminal.print(format === 'json' ? toJson({ url: urlWithToken }) : urlWithToken)
    using _ = options.open
      ? openBrowser(urlWithToken, token !== undefined, terminal.io.env, (words) =>
          terminal.note(words),
        )
      : undefined
    await stopped
    return EXIT.ok
  },
})

function tokenOf(
  { write, token }: { readonly write: boolean; readonly token: string | undefined },
  fromEnvironment: string | undefined,
): string | undefined {
  const given = token ?? (fromEnvironment === '' ? undefined : fromEnvironment)
  return given ?? (write ? randomToken() : undefined)
}

function portTaken(error: unknown, port: string | undefined): unknown {
  const { code } = error as { code?: unknown }
  if (code !== 'EADDRINUSE') return error
  return new CliError(`port ${port} is taken: choose another --port, or none`, EXIT.failed)
}
