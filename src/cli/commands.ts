// All commands, in the order of the help.

import type { Command } from './args/command.ts'
import { completion } from './commands/completion.ts'
import { runtimes, tasks, workflows } from './commands/fleet/fleet.ts'
import { errors, stats } from './commands/fleet/stats.ts'
import { exportHistory, importHistory } from './commands/instances/export.ts'
import { count, list } from './commands/instances/list.ts'
import { fork, send } from './commands/instances/send.ts'
import { history, show, tree } from './commands/instances/show.ts'
import { cancel, remove, resume, suspend, terminate } from './commands/instances/verbs.ts'
import { watch } from './commands/instances/watch.ts'
import {
  cleanup,
  discard,
  listLetters,
  reject,
  replay,
  requeue,
  resolve,
} from './commands/messages/dead-letters.ts'
import { outboxStats } from './commands/messages/outbox.ts'
import {
  queueDead,
  queueDiscard,
  queueList,
  queueRetry,
  queueStats,
} from './commands/messages/queue.ts'
import { check } from './commands/running/check.ts'
import { dashboard } from './commands/running/dashboard.ts'
import { dev } from './commands/running/dev.ts'
import { run } from './commands/running/run.ts'
import { start } from './commands/running/start.ts'
import {
  deleteSchedule,
  listSchedules,
  pauseSchedule,
  resumeSchedule,
  showSchedule,
  triggerSchedule,
} from './commands/schedules/schedules.ts'
import { doctor } from './commands/schema/doctor.ts'
import { migrate } from './commands/schema/migrate.ts'
import { prune } from './commands/schema/prune.ts'

/** All commands. */
export const COMMANDS: readonly Command[] = [
  dev,
  start,
  run,
  dashboard,
  list,
  count,
  show,
  history,
  tree,
  watch,
  cancel,
  terminate,
  suspend,
  resume,
  fork,
  remove,
  send,
  exportHistory,
  importHistory,
  listSchedules,
  showSchedule,
  pauseSchedule,
  resumeSchedule,
  triggerSchedule,
  deleteSchedule,
  workflows,
  tasks,
  runtimes,
  errors,
  stats,
  doctor,
  migrate,
  check,
  prune,
  outboxStats,
  listLetters,
  requeue,
  replay,
  resolve,
  reject,
  discard,
  cleanup,
  queueStats,
  queueList,
  queueDead,
  queueRetry,
  queueDiscard,
  completion,
]
