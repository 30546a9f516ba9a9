import { channel, workflow } from 'holdfast'

interface Export {
  readonly customer: string
  readonly file: string
}

export const written = channel<string>('written')
export const begun: string[] = []

export const exportFile = workflow(
  'export-file',
  {
    // Two exports of one customer at a time, however many processes there are.
    limit: { concurrency: 2, key: ({ customer }: Export) => customer },
  },
  async ({ file }: Export, ctx) => {
    await ctx.step('begin', async () => void begun.push(file))
    return ctx.receive(written)
  },
)
