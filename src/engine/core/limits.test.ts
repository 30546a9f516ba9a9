import { expect, test } from 'vitest'
import { silentLog } from '../../base/log.ts'
import { DEFAULT_LIMITS, LimitGuard } from './limits.ts'

test('a warning that was left out is counted in the next one of its kind', () => {
  const lines: object[] = []
  let now = 0
  const log = { ...silentLog, warn: (data: object) => void lines.push(data) }
  const guard = new LimitGuard(DEFAULT_LIMITS, log, () => now)

  for (now of [0, 1, 59_999, 60_000]) guard.warn('input', { at: now }, 'close')
  guard.warn('result', { at: now }, 'close')

  expect(lines).toEqual([{ at: 0 }, { at: 60_000, suppressed: 2 }, { at: 60_000 }])
})
