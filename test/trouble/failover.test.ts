import { expect, test } from 'vitest'
import { playFailover } from './failover.ts'

// `npm run failover` plays larger ones. One at a time: four servers at once starve each other.
test.each(['synchronous', 'asynchronous'] as const)(
  'work continues at the %s standby of a killed primary, consistent with what the standby has',
  { timeout: 180_000 },
  async (following) => {
    const seed = Math.floor(Math.random() * 1_000_000)

    const { findings, acknowledged } = await playFailover(following, seed)

    expect(findings, `npm run failover -- --short --following ${following} --seed ${seed}`).toEqual(
      [],
    )
    expect(acknowledged).toBeGreaterThan(10)
  },
)
