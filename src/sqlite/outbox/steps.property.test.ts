import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OUTBOX_COMMAND, OutboxTrial } from '../../../test/support/outbox-model.ts'

const RUNS = Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 60)

test('every message ends once, in the order of its key, whatever happens on the way', () => {
  const commands = fc.array(OUTBOX_COMMAND, { minLength: 20, maxLength: 80 })
  const ended = fc.property(commands, (given) => {
    const trial = new OutboxTrial()
    for (const command of given) trial.play(command)
    trial.finish()
  })

  expect(() => fc.assert(ended, { numRuns: RUNS })).not.toThrow()
})
