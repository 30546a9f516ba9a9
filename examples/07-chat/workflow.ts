import { activity, failure, request, workflow } from 'holdfast'

interface Line {
  readonly from: 'guest' | 'host'
  readonly text: string
}

export const say = request<string, string>('say')

export const TooLoud = failure('TooLoud')

/** In place of a language model, which would need the whole conversation, too. */
export const think = activity('think', async (lines: readonly Line[]) => {
  const asked = lines.filter(({ from }) => from === 'guest')
  return `that is question ${asked.length}`
})

export const chat = workflow('chat', async (lines: readonly Line[], ctx) => {
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
  const conversation: readonly Line[] = [...lines, { from: 'guest', text: asked.input }]
  const text = await ctx.run(think, conversation)
  asked.reply(text)
  return ctx.continueAsNew([...conversation, { from: 'host', text }])
})
