import { expect, test } from 'vitest'

import { sessionsOf } from './sessions.ts'

const task = (
  session: string,
  state: 'waiting' | 'running',
  activity: string,
  runtime?: number,
) => ({
  instanceId: `${session}-${activity}`,
  workflow: 'video',
  execution: 1,
  activity,
  tag: '',
  session,
  state,
  attempt: 1,
  deaths: 0,
  ...(runtime !== undefined && { sessionRuntime: runtime }),
})

test('tasks of a session are counted together, the fullest session first', () => {
  const rows = sessionsOf([
    task('a', 'waiting', 'cut'),
    task('', 'running', 'mail'),
    task('b', 'waiting', 'cut'),
    task('b', 'running', 'fetch', 7),
    task('b', 'running', 'fetch', 7),
  ])

  expect(rows).toEqual([
    { session: 'b', runtime: 7, activities: ['cut', 'fetch'], waiting: 1, delayed: 0, running: 2 },
    { session: 'a', runtime: undefined, activities: ['cut'], waiting: 1, delayed: 0, running: 0 },
  ])
})
