// Many things at once: each of a list, all of a few, the first of some.
//
//   npm run build && npx tsx examples/04-fan-out/main.ts [store URL]

import { setTimeout as passTime } from 'node:timers/promises'
import { activity, open, workflow } from 'holdfast'

let busy = 0

const develop = activity('develop', async (photo: string) => {
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

const askPrice = activity('ask price', async ({ name, cents, takesMs }: Shop, ctx) => {
  ctx.signal.addEventListener('abort', () => console.log(`  ${name} need not answer any more`))
  await passTime(takesMs, undefined, { signal: ctx.signal })
  return cents
})

const makeAlbum = workflow('make album', async (photos: readonly string[], ctx) => {
  // Never more than three at once; the results are in the order of the list.
  const developed = await ctx.map(photos, (photo, each) => each.run(develop, photo), {
    concurrency: 3,
  })

  // All of them, by name. If one fails, the other is called off.
  const { paper, glue } = await ctx.all({
    paper: ctx.run(askPrice, { name: 'Paper & Co', cents: 500, takesMs: 50 }),
    glue: ctx.run(askPrice, { name: 'Gluemakers', cents: 120, takesMs: 80 }),
  })

  // The first to come. A branch may be a whole function; losers are called off with all they began.
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

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: makeAlbum })
const photos = ['beach', 'boat', 'cat', 'dinner', 'dune', 'gull', 'pier', 'sunset']
const album = await holdfast.run(makeAlbum, photos, { id: 'summer' })
console.log(`prints: ${album.prints.join(' ')}`)
console.log(`at most ${album.mostAtOnce} were developed at once`)
console.log(`bound by ${album.binder}, for ${album.cents} cents in all`)
