// HOLDFAST_ROUNDS for more rounds.

import { expect, test } from 'vitest'
import { postgresUrl } from '../support/postgres.ts'
import { type KillPlace, playKills } from './kill-rounds.ts'

const ROUNDS = Number(process.env['HOLDFAST_ROUNDS'] ?? 1)

test.concurrent.each(['sqlite', 'postgres'] as const)(
  'whenever processes are killed or stopped, nothing is lost, keys keep their order, and transactions have no effect twice, on %s',
  { timeout: 30_000 + ROUNDS * 100_000 },
  async (kind) => {
    const place: KillPlace = kind === 'sqlite' ? { kind } : { kind, url: postgresUrl() }
    for (let round = 0; round < ROUNDS; round++) {
      const seed = Math.floor(Math.random() * 100_000)

      const { findings, sent, kills } = await playKills(place, seed)

      expect(findings, `seed ${seed}`).toEqual([])
      expect(sent).toBeGreaterThan(20)
      expect(kills).toBeGreaterThan(5)
    }
  },
)
