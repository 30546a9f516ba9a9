import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isPlainObject } from '../../../base/plain-object.ts'
import type { ExportedHistory } from '../../../index.ts'
import { command } from '../../args/command.ts'
import { UsageError } from '../../errors/cli-error.ts'
import { countValue, idValue, labelValues, readAll, readText } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printIds } from '../../output/print.ts'
import { safeJson } from '../../output/safe-text.ts'
import { withClient } from '../../store/with-client.ts'

export const exportHistory = command({
  name: 'instances export',
  summary: 'write an execution as JSON, for a bug report, a replay test or another store',
  args: [{ name: 'id', help: 'the id of the instance' }],
  options: {
    execution: { type: 'string', value: '<number>', help: 'which execution (default: the latest)' },
    file: { type: 'string', value: '<path>', help: 'the file to write (default: standard output)' },
  },
  examples: [
    { line: 'holdfast instances export order-7 --file order-7.json', what: 'to a file' },
    {
      line: 'holdfast instances export order-7 | holdfast instances import - --id order-7-copy',
      what: 'and into a store',
    },
  ],
  run: async (call) => {
    const id = idValue(call.args[0]!, '<id>')
    const { execution, file } = call.options
    const wanted =
      execution === undefined ? {} : { execution: countValue(execution, '--execution') }
    const exported = await withClient(call, (client) => client.get(id).export(wanted))
    // Plain data already; only characters that a terminal could obey are escaped.
    const json = safeJson(JSON.stringify(exported, undefined, 2))
    if (file === undefined) call.terminal.print(json)
    else writeFileSync(resolve(call.terminal.io.cwd, file), `${json}\n`, { mode: 0o600 })
  },
})

export const importHistory = command({
  name: 'instances import',
  summary: 'create an instance from an export; it continues where the exported one was',
  args: [{ name: 'file', help: 'the file, or - for standard input' }],
  options: {
    id: {
      type: 'string',
      value: '<id>',
      help: 'the id of the new instance (default: the exported)',
    },
    label: { type: 'string', multiple: true, value: '<name>=<value>', help: 'a label for it' },
  },
  examples: [
    {
      line: 'holdfast instances import order-9.json --id order-9-again --label from=backup',
      what: 'under another id',
    },
  ],
  run: async (call) => {
    const [file] = call.args as [string]
    const { io } = call.terminal
    const text = file === '-' ? await readAll(io) : readText(file, io)
    const exported = parseExport(text, file)
    const { id: given } = call.options
    const id = given === undefined ? undefined : idValue(given, '--id')
    const labels = labelValues(call.options.label)
    const options = { ...(id !== undefined && { id }), ...(labels !== undefined && { labels }) }
    const instance = await withClient(call, (client) => client.import(exported, options))
    if (call.format === 'json') call.terminal.print(toJson({ id: instance.id }))
    else printIds(call.terminal, [instance.id])
  },
})

function parseExport(text: string, file: string): ExportedHistory {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw new UsageError(`${file} is not JSON: ${(error as Error).message}`, 'instances import')
  }
  if (isPlainObject(parsed) && typeof parsed['holdfast'] === 'number') return parsed as never
  throw new UsageError(`${file} is not an export of Holdfast`, 'instances import')
}
