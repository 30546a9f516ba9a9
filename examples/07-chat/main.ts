// A conversation: the caller asks and waits for the answer. After each answer the workflow starts over
// with all that was said; questions that came meanwhile wait for it, and none is lost.
//
//   npm run build && npx tsx examples/07-chat/main.ts [store URL]

import { activity, failure, open, request, workflow } from 'holdfast'

interface Line {
  readonly from: 'guest' | 'host'
  readonly text: string
}

const say = request<string, string>('say')

const TooLoud = failure('TooLoud')

/** In place of a language model, which would need the whole conversation, too. */
const think = activity('think', async (lines: readonly Line[]) => {
  const asked = lines.filter(({ from }) => from === 'guest')
  return `that is question ${asked.length}`
})

const chat = workflow('chat', async (lines: readonly Line[], ctx) => {
  const asked = await ctx.receive(say, { timeout: '30m' })
  if (asked === undefined) return lines

  if (asked.input === 'goodbye') {
    asked.reply('goodbye')
    return lines
  }
  if (asked.input.endsWith('!')) {
    asked.reject(new TooLoud('not so loud, please'))
    return ctx.continueAsNew(lines)
  }
  const heard: readonly Line[] = [...lines, { from: 'guest', text: asked.input }]
  const text = await ctx.run(think, heard)
  asked.reply(text)
  return ctx.continueAsNew([...heard, { from: 'host', text }])
})

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: chat })
// Each run of this program is a new conversation, under the same id.
const session = await holdfast.start(chat, [], { id: 'chat-1', onConflict: 'restart' })

await ask('hello?')
// All at once: they are heard one after the other, and each gets its own answer.
await Promise.all(['who are you?', 'ANSWER ME!', 'where are you?'].map(ask))
await ask('goodbye')

const lines = await session.result()
const info = await session.info()
console.log(`${lines.length} lines were said, in ${info?.execution} executions`)

async function ask(text: string): Promise<void> {
  try {
    console.log(`${text} ${await session.request(say, text, { timeout: '1m' })}`)
  } catch (error) {
    if (!(error instanceof TooLoud)) throw error
    console.log(`${text} ${error.message}`)
  }
}
