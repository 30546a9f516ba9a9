import type { Effects, Reply, StateChange } from '../../store/commits.ts'
import type { NewTask, TaskLimit } from '../../store/tasks.ts'

import type { PackReader, PackWriter } from './packing.ts'

// The rare part of a batch of commits.

const ALL = -1
const NONE = -1

/** Packs effects. */
export function packEffects(effects: Effects, to: PackWriter): void {
  const { parked, closes, clearsState, state, progress, replies, tasks, dropsTasks } = effects
  to.list(parked)
  if (closes === 'all') to.number(ALL)
  else to.list(closes)
  to.number(clearsState ? 1 : 0, state.length, replies.length)
  for (const { key, value } of state) {
    to.text(key)
    to.optional(value)
  }
  to.optional(progress)
  for (const reply of replies) to.text(reply.to, reply.payload)
  to.list(dropsTasks)
  to.number(tasks.length)
  for (const task of tasks) packTask(task, to)
}

function packTask(task: NewTask, to: PackWriter): void {
  const { command, token, attempts, startBy, limit } = task
  to.number(command, token, attempts, startBy ?? NONE, limit === null ? 0 : 1)
  to.text(task.activity, task.input, task.tag, task.session, task.options)
  if (limit === null) return
  const { key, concurrency, rate } = limit
  to.text(key)
  to.number(concurrency ?? NONE, rate?.count ?? NONE, rate?.perMs ?? NONE)
}

/** Unpacks effects. */
export function unpackEffects(from: PackReader): Effects {
  const parked = from.numbers()
  const closed = from.number()
  const closes = closed === ALL ? 'all' : from.numbers(closed)
  const [clearsState, changes, answers] = [from.number() === 1, from.number(), from.number()]
  return {
    parked,
    closes,
    clearsState,
    state: from.list(changes, unpackChange),
    progress: from.optional(),
    replies: from.list(answers, unpackReply),
    dropsTasks: from.numbers(),
    tasks: from.list(from.number(), unpackTask),
  }
}

function unpackChange(from: PackReader): StateChange {
  return { key: from.text(), value: from.optional() }
}

function unpackReply(from: PackReader): Reply {
  return { to: from.text(), payload: from.text() }
}

function unpackTask(from: PackReader): NewTask {
  const [command, token, attempts] = [from.number(), from.number(), from.number()]
  const [startBy, limited] = [from.number(), from.number()]
  return {
    command,
    token,
    attempts,
    startBy: startBy === NONE ? null : startBy,
    activity: from.text(),
    input: from.text(),
    tag: from.text(),
    session: from.text(),
    options: from.text(),
    limit: limited === 0 ? null : unpackLimit(from),
  }
}

function unpackLimit(from: PackReader): TaskLimit {
  const [concurrency, count, perMs] = [from.number(), from.number(), from.number()]
  return {
    key: from.text(),
    concurrency: concurrency === NONE ? null : concurrency,
    rate: count === NONE ? null : { count, perMs },
  }
}
