// A conversation: each question waits for its answer, and each answer is a new execution.

import { activity, connect, request, workflow } from 'holdfast'
import { type Line, llm } from './domain.ts'

const say = request<string, string>('say')
const answer = activity('answer', (lines: readonly Line[], ctx) =>
  llm.chat(lines, { signal: ctx.signal }),
)

export const chat = workflow('chat', async (lines: readonly Line[], ctx) => {
  const asked = await ctx.receive(say, { timeout: '30m' })
  if (asked === undefined) return lines
  const conversation: readonly Line[] = [...lines, { from: 'user', text: asked.input }]
  const text = await ctx.run(answer, conversation).catch((error: unknown) => {
    asked.reject(new Error('no answer today', { cause: error }))
    throw error
  })
  asked.reply(text)
  return ctx.continueAsNew([...conversation, { from: 'bot', text }])
})

export async function main(): Promise<string> {
  await using client = connect('postgres://localhost/app')
  const session = await client.start(chat, [], { id: 'chat-7' })
  return await session.request(say, 'hi', { timeout: '1m', dedupeKey: 'first' })
}
