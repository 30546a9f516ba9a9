import { compression, encryption } from 'holdfast'
import { crashEverywhere } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { findings, letter } from './workflow.ts'

const key = { id: '2026', key: 'pT8yBs7cmdLzDRAm5pWJ1yYuTSFNfcmqNwBfDKvVtcE=' }

test('a letter is written whatever crashes, and nothing of it can be read in the database', async () => {
  const { runs } = await crashEverywhere(() => ({
    register: letter,
    codec: [compression(), encryption({ keys: [key] })],
    scenario: async (t) => {
      const one = await t.start(letter, 'Ada Lovelace', { id: 'letter-1' })
      await one.send(findings, 'all is well')
      return one.result()
    },
    check: (result, t) => {
      expect(result).toBe('Ada Lovelace: all is well (3 words)')
      const tables = t.database
        .prepare(`select name from sqlite_schema where type = 'table'`)
        .all() as { name: string }[]
      const stored = tables.map(({ name }) => t.database.prepare(`select * from "${name}"`).all())
      expect(JSON.stringify(stored)).not.toMatch(/Lovelace|all is well/)
    },
  }))

  expect(runs).toBeGreaterThan(3)
})
