import type { Client, Instance, StartOptions } from '../../../index.ts'
import { type Call, command } from '../../args/command.ts'
import { EXIT } from '../../errors/cli-error.ts'
import {
  durationValue,
  idValue,
  jsonValue,
  labelValues,
  nameValue,
  wordValue,
} from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printIds } from '../../output/print.ts'
import { safeText } from '../../output/safe-text.ts'
import { findStore, requireStore, storeName } from '../../store/choose-store.ts'
import { loadCodec } from '../../store/load-codec.ts'
import { notesOf, storeOf, withClient } from '../../store/with-client.ts'
import { checkRegistered, loadModules, modulePaths } from './load-modules.ts'

// A result that takes longer is perhaps waiting for something that never comes.
const PATIENCE_MS = 5_000

const CONFLICTS = ['return', 'error', 'restart'] as const

const OPTIONS = {
  id: { type: 'string', value: '<id>', help: 'the id of the instance (default: a UUID)' },
  label: { type: 'string', multiple: true, value: '<name>=<value>', help: 'a label for it' },
  delay: { type: 'string', value: '<duration>', help: 'start it later' },
  'workflow-version': { type: 'string', value: '<version>', help: 'run exactly this version' },
  'on-conflict': {
    type: 'string',
    value: '<what>',
    words: CONFLICTS,
    help: `if the id is taken: ${CONFLICTS.join(', ')} (default: return)`,
  },
  timeout: { type: 'string', value: '<duration>', help: 'how long to wait for the result' },
  detach: { type: 'boolean', help: 'print the id, and do not wait for the result' },
  module: {
    type: 'string',
    multiple: true,
    value: '<path>',
    help: 'run it here with the code of this module, rather than in another process',
  },
} as const

export const run = command({
  name: 'run',
  summary: 'start an instance and wait for its result',
  details:
    'Prints the result as JSON, and exits with 1 if the workflow failed. Ctrl-C ends the wait, and the instance\n' +
    'continues in its runtime. With --module it runs in this process: on the store that other commands would\n' +
    'use, if there is one, and else in memory.',
  args: [
    { name: 'workflow', help: 'the name of the workflow' },
    { name: 'input', help: 'JSON, @<file>, or - for standard input', optional: true },
  ],
  options: OPTIONS,
  examples: [
    { line: `holdfast run order '{"cents":500}' --module shop.ts`, what: 'here, with this code' },
    {
      line: `holdfast run order '{"cents":500}' --id order-10 --label customer=7 --detach`,
      what: 'by the runtimes of the store, without waiting',
    },
  ],
  run: async (call) => {
    const [, text] = call.args
    const workflow = nameValue(call.args[0]!, '<workflow>')
    const input = text === undefined ? undefined : await jsonValue(text, 'input', call.terminal.io)
    if (call.options.module.length === 0) {
      requireStore(call)
      return withClient(call, (client) => perform(call, client, workflow, input))
    }
    const { io } = call.terminal
    const modules = await loadModules(modulePaths(call.options.module, io), io)
    const choice = findStore(call)
    if (choice === undefined) {
      checkRegistered('run', modules, [workflow])
      call.terminal.note('no store was given: nothing is kept')
    } else call.terminal.note(`store: ${safeText(storeName(choice))}`)
    const { open } = await import('../../../index.ts')
    await using runtime = await open(choice === undefined ? 'memory:' : await storeOf(choice), {
      register: modules,
      log: notesOf(call),
      ...(await loadCodec(call)),
    })
    return await perform(call, runtime, workflow, input)
  },
})

async function perform(
  call: Call<typeof OPTIONS>,
  client: Client,
  name: string,
  input: unknown,
): Promise<number> {
  const { terminal, format, options, signal } = call
  const { workflow } = await import('../../../index.ts')
  const timeout = options.timeout && durationValue(options.timeout, '--timeout')
  const instance: Instance = await client.start(
    workflow<unknown, unknown>(name),
    input,
    startOptions(call),
  )
  if (options.detach) {
    if (format === 'json') terminal.print(toJson({ id: instance.id }))
    else printIds(terminal, [instance.id])
    return EXIT.ok
  }
  if (options.id === undefined) terminal.note(`started ${safeText(instance.id)}`)
  const impatient = setTimeout(() => void explain(call, instance), PATIENCE_MS)
  try {
    const result = await instance.result({ signal, ...(timeout && { timeout }) })
    if (format === 'ids') printIds(terminal, [instance.id])
    else terminal.print(toJson(result, 2))
    return EXIT.ok
  } catch (error) {
    if (signal.aborted)
      terminal.note(
        `${safeText(instance.id)} continues; follow it with \`holdfast instances watch\``,
      )
    throw error
  } finally {
    clearTimeout(impatient)
  }
}

/** Says what an instance waits for. */
async function explain({ terminal }: Call<typeof OPTIONS>, instance: Instance): Promise<void> {
  // The wait for the result reports what is wrong with the store.
  const found = await instance.info().catch(() => undefined)
  const waits = found?.waitingFor ?? []
  if (waits.length > 0) terminal.note(`waiting for ${safeText(waits.join(', '))}`)
}

function startOptions({ options }: Call<typeof OPTIONS>): StartOptions {
  const labels = labelValues(options.label)
  const { id, delay, 'workflow-version': version, 'on-conflict': conflict } = options
  return {
    ...(id !== undefined && { id: idValue(id, '--id') }),
    ...(labels !== undefined && { labels }),
    ...(delay !== undefined && { delay: durationValue(delay, '--delay') }),
    ...(version !== undefined && { version }),
    ...(conflict !== undefined && {
      onConflict: wordValue(conflict, '--on-conflict', CONFLICTS),
    }),
  }
}
