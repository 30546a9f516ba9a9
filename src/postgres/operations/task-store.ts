import type { TaskStore } from '../../store/tasks.ts'
import { toFlags } from '../wire/answers.ts'
import type { Call } from '../wire/call.ts'
import { toHeldTask, toTaskKeys, toTaskVerdicts } from '../wire/task-answers.ts'
import { beatLists, interestValues, keyLists, resultLists } from '../wire/task-values.ts'
import { text, int, intOrNull } from '../connect/rows.ts'

/** Tasks in PostgreSQL: a part of the workflow store. */
export function postgresTaskStore(call: Call): TaskStore {
  return {
    async claimTasks(request) {
      const { runtime, limit, maxSessions, sessionIdleMs } = request
      const [row] = await call('claim_tasks', [
        runtime,
        limit,
        maxSessions,
        Math.ceil(sessionIdleMs),
        ...interestValues('claimTasks', request),
      ])
      const keys = toTaskKeys(row!)
      // Two calls, so that the first is committed before large values are sent.
      const tasks = keys.length === 0 ? [] : await call('held_tasks', [runtime, ...keyLists(keys)])
      return {
        state: text(row!, 'state') === 'dead' ? 'dead' : 'ok',
        clock: int(row!, 'clock'),
        tasks: tasks.map(toHeldTask),
        nextDue: intOrNull(row!, 'next_due'),
      }
    },

    async finishTasks(runtime, results) {
      const [row] = await call('finish_tasks', [runtime, ...resultLists(results)])
      return toTaskVerdicts(row!)
    },

    async ownedTasks(runtime) {
      return (await call('holding', [runtime])).map((row) => ({
        iid: int(row, 'iid'),
        execution: int(row, 'execution'),
        command: int(row, 'command'),
        attempt: int(row, 'attempt'),
      }))
    },

    async beat(runtime, beats) {
      const [row] = await call('beat_tasks', [runtime, ...beatLists(beats)])
      return toFlags(text(row!, 'wanted'))
    },
  }
}
