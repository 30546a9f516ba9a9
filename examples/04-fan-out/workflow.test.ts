import { openTest, simulate, stub, type Stub } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { askPrice, develop, makeAlbum } from './workflow.ts'

const photos = ['beach', 'boat', 'cat', 'dune', 'gull']

/** Shops that take the time of the test, and a darkroom that counts what is in it. */
function town(): { readonly stubs: readonly Stub[]; readonly answered: string[] } {
  const answered: string[] = []
  let busy = 0
  return {
    answered,
    stubs: [
      stub(develop, async (photo, _, { sleep }) => {
        const atOnce = ++busy
        await sleep('1h')
        busy--
        return { print: `${photo}.png`, atOnce }
      }),
      stub(askPrice, async ({ name, cents, takesMs }, _, { sleep }) => {
        await sleep(takesMs)
        answered.push(name)
        return cents
      }),
    ],
  }
}

test('an album of five takes two hours, three photos at a time, and the fast binder wins', async () => {
  const { stubs, answered } = town()
  await using t = await openTest({ register: makeAlbum, stubs })

  expect(await t.run(makeAlbum, photos)).toEqual({
    prints: photos.map((photo) => `${photo}.png`),
    mostAtOnce: 3,
    binder: 'fast',
    cents: 1620,
  })
  expect(t.now().getTime() - Date.UTC(2030, 0, 1)).toBe(2 * 3_600_000 + 80 + 50)
  // The cheap one got the signal to stop.
  expect(answered).toEqual(['Paper & Co', 'Gluemakers', 'Fast & Sons'])
})

test('the album is the same whatever happens', async () => {
  const report = await simulate({
    register: makeAlbum,
    stubs: [
      stub(develop, (photo) => ({ print: `${photo}.png`, atOnce: 1 })),
      stub(askPrice, async ({ cents, takesMs }, _, { sleep }) => {
        await sleep(takesMs)
        return cents
      }),
    ],
    // A binder that is late would let another one win.
    faults: ['crash', 'lost-hint', 'duplicate'],
    runs: 20,
    scenario: async (client) => {
      const album = await client.run(makeAlbum, photos, { id: 'summer' })
      expect(album.prints).toEqual(photos.map((photo) => `${photo}.png`))
    },
  })

  expect(report.faults).toBeGreaterThan(0)
})
