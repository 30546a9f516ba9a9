// Random sequences of commands, by one user or two, with reopening and crashes, against a list that is
// simple enough to trust. HOLDFAST_PROPERTY_RUNS for more of them.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { Database } from '../../src/sqlite/file/database.ts'
import type { ModelRules } from './model.ts'
import { type Command, rules, scripts } from './model-commands.ts'
import { Scene } from './model-scene.ts'
import { queueFileSettings, stillTime } from './support.ts'

const RUNS = Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 400)

test(
  'a queue behaves like a list under any sequence of operations',
  { timeout: 60_000 + RUNS * 200 },
  async () => {
    using _ = stillTime()

    await fc.assert(fc.asyncProperty(scripts, rules, follow), { numRuns: RUNS })
  },
)

async function follow(script: readonly Command[], given: ModelRules): Promise<void> {
  const database = new Database(queueFileSettings(':memory:'))
  const scene = new Scene(database, given)
  await scene.open()
  for (const command of script) {
    const { real, expected } = await scene.perform(command)
    expect(real).toEqual(expected)
    const state = await scene.state()
    expect(state.real).toEqual(state.expected)
  }
  await scene.close()
  database.close()
}
