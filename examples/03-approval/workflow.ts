import { channel, workflow } from 'holdfast'

interface Bill {
  readonly what: string
  /** How long an answer may take, in milliseconds. */
  readonly patience: number
}

export const answers = channel<{ by: string; yes: boolean }>('answers')

export const approve = workflow('approve', async ({ what, patience }: Bill, ctx) => {
  await ctx.step('ask', () => console.log(`  mail to the boss: may we pay for ${what}?`))
  const answer = await ctx.receive(answers, { timeout: patience })
  // The answer may be missing: without this line the next one does not compile.
  if (answer === undefined) return 'nobody answered'
  return answer.yes ? `approved by ${answer.by}` : `refused by ${answer.by}`
})
