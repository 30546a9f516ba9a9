import { describe, expect, test } from 'vitest'
import { playHands } from './hands.ts'
import { STORES } from './stores.ts'

// `HOLDFAST_ROUNDS=50 npx vitest run test/e2e/hands.test.ts` plays as many.
const ROUNDS = Number(process.env['HOLDFAST_ROUNDS'] ?? 1)

describe.concurrent.each(STORES)('on %s', (_, kind) => {
  test.each(Array.from({ length: ROUNDS }, (_round, i) => i + 1))(
    'processes with different tags and sessions do every job once, whichever is killed (%i)',
    { timeout: 120_000 },
    async () => {
      const seed = Math.floor(Math.random() * 1_000_000)

      const { findings, kills, attempts } = await playHands(kind(), seed)

      expect(findings, `seed ${seed}`).toEqual([])
      expect(kills).toBeGreaterThan(4)
      expect(attempts).toBeGreaterThan(20)
    },
  )
})
