// Workflows of an application whose folders are called as some of the package.

import { activity, workflow } from '../../../../src/index.ts'

export const charge = activity('charge', async (n: number) => n)

export const forgets = workflow('forgets', async (n: number, ctx) => {
  await ctx.sleep('1d')
  void ctx.run(charge, n) // forgotten
})

export const breaks = workflow('breaks', async () => {
  throw new Error('out of paper') // thrown
})
