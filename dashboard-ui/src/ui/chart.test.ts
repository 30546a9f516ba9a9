import { expect, test } from 'vitest'

import { pathOf } from './chart.tsx'

test('a line has a gap where nothing is known, and a lone value is a stroke', () => {
  const path = pathOf(
    [1, 2, undefined, 3, undefined],
    (i) => i * 10,
    (value) => value,
  )

  expect(path).toBe('M0.0 1.0L10.0 2.0M30.0 3.0h3')
})
