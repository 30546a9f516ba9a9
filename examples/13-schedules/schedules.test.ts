import { describe, expect, test } from 'vitest'
import { LIMIT_MS, runExample, WELL } from '../../test/support/example.ts'

describe.concurrent('the example of schedules', { timeout: LIMIT_MS }, () => {
  test('it starts, skips, pauses, triggers and changes', async () => {
    const { lines, ...end } = await runExample('13-schedules', 'memory:')

    expect(end).toEqual(WELL)
    expect(lines).toEqual([
      expect.stringMatching(/^started: report of reports\/\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      'skipped, because 1 is running',
      expect.stringMatching(/^triggered while paused: report of reports\/[0-9a-f-]{36}$/),
      'now due on weekdays at 09:00:00 in Berlin',
      'deleted: true',
    ])
  })
})
