import { activity, channel, workflow } from 'holdfast'

export const findings = channel<string>('findings')

const summarise = activity('summarise', async (text: string) => `${text.split(' ').length} words`)

export const letter = workflow('letter', async (patient: string, ctx) => {
  const finding = await ctx.receive(findings)
  return `${patient}: ${finding} (${await ctx.run(summarise, finding)})`
})
