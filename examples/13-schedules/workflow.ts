import { workflow } from 'holdfast'

export const report = workflow('report', async (seconds: number, ctx) => {
  await ctx.sleep(seconds * 1_000)
  return `report of ${ctx.info.id}`
})
