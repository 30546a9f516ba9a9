import { command } from '../../args/command.ts'
import { UsageError } from '../../errors/cli-error.ts'
import { countValue, idValue, jsonValue, nameValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printIds } from '../../output/print.ts'
import { safeText } from '../../output/safe-text.ts'
import { withClient } from '../../store/with-client.ts'

export const send = command({
  name: 'instances send',
  summary: 'send a message to a channel of an instance',
  details: 'A message for an id that was not started yet waits for its start.',
  args: [
    { name: 'id', help: 'the id of the instance' },
    { name: 'channel', help: 'the name of the channel' },
    { name: 'data', help: 'JSON, @<file>, or - for standard input', optional: true },
  ],
  options: {
    'dedupe-key': { type: 'string', value: '<key>', help: 'drop a second message with this key' },
  },
  examples: [
    {
      line: `holdfast instances send approval-1 decision '{"approved":true}'`,
      what: 'a message as JSON',
    },
    {
      line: `echo '{"approved":false}' | holdfast instances send approval-1 decision -`,
      what: 'from standard input',
    },
  ],
  run: async (call) => {
    const [, , text] = call.args
    const id = idValue(call.args[0]!, '<id>')
    const channelName = nameValue(call.args[1]!, '<channel>')
    const key = call.options['dedupe-key']
    const data = text === undefined ? undefined : await jsonValue(text, 'data', call.terminal.io)
    const isStarted = await withClient(call, async (client) => {
      const { channel } = await import('../../../index.ts')
      const options = key === undefined ? {} : { dedupeKey: key }
      const instance = client.get(id)
      await instance.send(channel<unknown>(channelName), data, options)
      // It is sent: an error of this look must not have a script send it again.
      return instance.info().then(
        (info) => info !== undefined,
        () => true,
      )
    })
    call.terminal.note(`sent to ${safeText(channelName)} of ${safeText(id)}`)
    if (isStarted) return
    call.terminal.note(`${safeText(id)} was not started yet; the message waits for it`)
  },
})

export const fork = command({
  name: 'instances fork',
  summary: 'start an instance that shares the history of another up to an event',
  args: [{ name: 'id', help: 'the id of the instance' }],
  options: {
    at: { type: 'string', value: '<seq>', help: 'the last event that both share (see history)' },
    id: { type: 'string', value: '<id>', help: 'the id of the new instance (default: a UUID)' },
  },
  examples: [
    {
      line: 'holdfast instances fork order-7 --at 1 --id order-7b',
      what: 'from the first event on',
    },
  ],
  run: async (call) => {
    const id = idValue(call.args[0]!, '<id>')
    const { at, id: given } = call.options
    const newId = given === undefined ? undefined : idValue(given, '--id')
    if (at === undefined) {
      throw new UsageError('--at is missing: the seq of the last shared event', 'instances fork')
    }
    const options = { at: countValue(at, '--at'), ...(newId !== undefined && { id: newId }) }
    const forked = await withClient(call, (client) => client.get(id).fork(options))
    if (call.format === 'json') call.terminal.print(toJson({ id: forked.id }))
    else printIds(call.terminal, [forked.id])
  },
})
