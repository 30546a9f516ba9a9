import { type Call, command } from '../../args/command.ts'
import { CliError, EXIT, UsageError } from '../../errors/cli-error.ts'
import { toJson } from '../../output/plain-json.ts'
import { safeText } from '../../output/safe-text.ts'
import { recordLines } from '../../output/table.ts'
import { requireStore, schemaOf, type StoreChoice, storeName } from '../../store/choose-store.ts'
import { notesOf, statusOf, storeOf } from '../../store/with-client.ts'

const OPTIONS = {
  print: { type: 'boolean', help: 'print the SQL for PostgreSQL, and connect to nothing' },
  status: { type: 'boolean', help: 'say whether the store is up to date, and change nothing' },
  outbox: {
    type: 'string',
    multiple: true,
    value: '<prefix>',
    help: 'also the tables of the outbox with this prefix, such as outbox',
  },
} as const

export const migrate = command({
  name: 'migrate',
  summary: 'create the tables of a store, or bring them up to date',
  details:
    'Runtimes do the same when they start. With --status the exit code is 0 if nothing has to be done, and 1\n' +
    'otherwise. --print is for roles that are not allowed to create tables: have their owner run the SQL.',
  args: [],
  options: OPTIONS,
  examples: [
    { line: 'holdfast migrate', what: 'create or upgrade' },
    { line: 'holdfast migrate --status', what: 'only look' },
    { line: 'holdfast migrate --print --schema billing > billing.sql', what: 'SQL for PostgreSQL' },
  ],
  run: async (call) => {
    const { options, terminal } = call
    if (options.print) {
      if (options.status) throw new UsageError('give --print or --status, not both', 'migrate')
      const { migrationSql } = await import('../../../postgres/index.ts')
      const schema = schemaOf(call)
      terminal.print(migrationSql({ outbox: options.outbox, schema }).trimEnd())
      return EXIT.ok
    }
    const choice = requireStore(call)
    if (choice.kind === 'memory') throw new CliError('memory: needs no migration', EXIT.usage)
    return options.status ? showStatus(call, choice) : upgrade(call, choice)
  },
})

type File = Exclude<StoreChoice, { kind: 'memory' }>

async function showStatus(call: Call<typeof OPTIONS>, choice: File): Promise<number> {
  const { terminal, format, options } = call
  const families = [undefined, ...options.outbox]
  const found = []
  for (const outbox of families) {
    found.push({ tables: outbox ?? 'workflows', ...(await statusOf(choice, outbox)) })
  }
  if (format === 'json') terminal.print(toJson(found, 2))
  else {
    for (const { tables, state, detail, missing } of found) {
      const record = [
        ['tables', tables],
        ['state', state],
        ['detail', detail],
        ['missing', missing.join('\n')],
      ] as const
      for (const line of recordLines(terminal, record)) terminal.print(line)
    }
  }
  return found.every(({ state }) => state === 'current' || state === 'ahead')
    ? EXIT.ok
    : EXIT.failed
}

async function upgrade(call: Call<typeof OPTIONS>, choice: File): Promise<number> {
  const { options, terminal } = call
  const families = [undefined, ...options.outbox]
  const before = []
  for (const prefix of families) before.push(await statusOf(choice, prefix))
  const refused = before.find(({ state }) => state === 'refused')
  if (refused !== undefined) throw new CliError(refused.detail)
  const { connect } = await import('../../../index.ts')
  await using client = connect(await storeOf(choice), {
    log: notesOf(call),
    connectTimeout: '30s',
  })
  // The first call creates or upgrades.
  await client.list({}, { limit: 1 })
  for (const prefix of options.outbox) {
    const { outbox } = await import('../../../outbox/index.ts')
    await outbox(client, { prefix }).stats()
  }
  for (const [i, prefix] of families.entries()) {
    const { detail } = await statusOf(choice, prefix)
    terminal.note(`${safeText(storeName(choice))}: ${doneTo(before[i]!)}; ${safeText(detail)}`)
  }
  return EXIT.ok
}

/** What was done to tables that were in this state. */
function doneTo({ state, missing }: Awaited<ReturnType<typeof statusOf>>): string {
  if (state === 'missing') return 'created'
  if (missing.length === 0) return 'nothing to do'
  return `upgraded by ${missing.length} ${missing.length === 1 ? 'file' : 'files'}`
}
