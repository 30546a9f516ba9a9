import { setTimeout as passTime } from 'node:timers/promises'
import { activity, workflow } from 'holdfast'

let busy = 0

export const develop = activity('develop', async (photo: string) => {
  const atOnce = ++busy
  await passTime(100)
  busy--
  return { print: `${photo}.png`, atOnce }
})

interface Shop {
  readonly name: string
  readonly cents: number
  readonly takesMs: number
}

export const askPrice = activity('ask price', async ({ name, cents, takesMs }: Shop, ctx) => {
  ctx.signal.addEventListener('abort', () => console.log(`  ${name} need not answer any more`))
  await passTime(takesMs, undefined, { signal: ctx.signal })
  return cents
})

export const makeAlbum = workflow('make album', async (photos: readonly string[], ctx) => {
  // Never more than three at once; the results are in the order of the list.
  const developed = await ctx.map(photos, (photo, each) => each.run(develop, photo), {
    concurrency: 3,
  })

  // All of them, by name. If one fails, the other is cancelled.
  const { paper, glue } = await ctx.all({
    paper: ctx.run(askPrice, { name: 'Paper & Co', cents: 500, takesMs: 50 }),
    glue: ctx.run(askPrice, { name: 'Gluemakers', cents: 120, takesMs: 80 }),
  })

  // The first one wins. A branch may be a whole function; losers are cancelled with all they began.
  const binder = await ctx.race({
    fast: async (branch) => {
      const cents = await branch.run(askPrice, { name: 'Fast & Sons', cents: 900, takesMs: 50 })
      return cents + 100
    },
    cheap: ctx.run(askPrice, { name: 'Cheap & Daughters', cents: 300, takesMs: 60_000 }),
    nobody: ctx.sleep('10s'),
  })
  const binding = binder.key === 'nobody' ? 0 : binder.value

  return {
    prints: developed.map(({ print }) => print),
    mostAtOnce: Math.max(...developed.map(({ atOnce }) => atOnce)),
    binder: binder.key,
    cents: paper + glue + binding,
  }
})
