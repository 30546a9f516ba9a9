import type { Json } from '../../../../src/dashboard/api.ts'
import type { TaskInfo } from '../../../../src/index.ts'

type Task = Json<TaskInfo>

/** The tasks of one session. */
export interface SessionRow {
  readonly session: string
  /** The runtime that has it, if one has. */
  readonly runtime: number | undefined
  readonly activities: readonly string[]
  readonly waiting: number
  readonly delayed: number
  readonly running: number
}

/** Groups tasks by session, the fullest first. Tasks without one are left out. */
export function sessionsOf(tasks: readonly Task[]): readonly SessionRow[] {
  const groups = new Map<string, Task[]>()
  for (const task of tasks) {
    if (task.session === '') continue
    const known = groups.get(task.session)
    if (known === undefined) groups.set(task.session, [task])
    else known.push(task)
  }
  return [...groups]
    .map(([session, all]): SessionRow => {
      const count = (state: Task['state']): number =>
        all.filter((one) => one.state === state).length
      return {
        session,
        runtime: all.find(({ sessionRuntime }) => sessionRuntime !== undefined)?.sessionRuntime,
        activities: [...new Set(all.map(({ activity }) => activity))],
        waiting: count('waiting'),
        delayed: count('delayed'),
        running: count('running'),
      }
    })
    .toSorted((a, b) => total(b) - total(a) || a.session.localeCompare(b.session))
}

const total = ({ waiting, delayed, running }: SessionRow): number => waiting + delayed + running
