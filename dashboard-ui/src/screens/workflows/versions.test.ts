import { expect, test } from 'vitest'

import { versionRows } from './versions.ts'

const info = (name: string, version: string, running = 0, servedBy = 1) => ({
  name,
  version,
  running,
  servedBy,
  scheduled: 0,
  suspended: 0,
})

test('versions of a workflow stand together, the newest first, and say what becomes of them', () => {
  const rows = versionRows([
    info('order', '1.9.0', 3),
    info('order', ''),
    info('bill', '1.0.0'),
    info('order', '1.10.0'),
    info('order', '2.0.0', 1, 0),
    info('order', '1.2.0', 0),
  ])

  expect(rows.map(({ name, version, isFirst, role }) => [name, version, isFirst, role])).toEqual([
    ['bill', '1.0.0', true, 'only'],
    ['order', '', true, 'waiting'],
    // No runtime serves it, so new instances do not get it, and its own wait for their code.
    ['order', '2.0.0', false, 'unserved'],
    ['order', '1.10.0', false, 'latest'],
    ['order', '1.9.0', false, 'draining'],
    ['order', '1.2.0', false, 'idle'],
  ])
})
