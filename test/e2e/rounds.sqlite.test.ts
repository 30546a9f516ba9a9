import { expect, test } from 'vitest'
import { playRound } from './rounds.ts'
import { STORES } from './stores.ts'

const [, kind] = STORES.find(([name]) => name === 'sqlite')!

// `npm run soak` plays as many as you like.
test.each([1])(
  'on sqlite, processes that are killed or frozen change no outcome (%i)',
  { timeout: 120_000 },
  async () => {
    const seed = Math.floor(Math.random() * 1_000_000)

    const { findings, instances } = await playRound(kind(), seed)

    expect(findings, `npm run soak -- --store sqlite --rounds 1 --seed ${seed}`).toEqual([])
    expect(instances).toBeGreaterThan(10)
  },
)
