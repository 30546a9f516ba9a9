// A conversation: the caller asks and waits for the answer. After each answer the workflow starts over
// with all that was said; questions that came meanwhile wait for it, and none is lost.
//
//   npm run build && npx tsx examples/07-chat/main.ts [store URL]

import { open } from 'holdfast'
import { chat, say, TooLoud } from './workflow.ts'

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: chat })
// Each run of this program is a new conversation, under the same id.
const session = await holdfast.start(chat, [], { id: 'chat-1', onConflict: 'restart' })

await ask('hello?')
// All at once: they are handled one after the other, and each gets its own answer.
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
