import type { Effects, Reply, StateChange } from '../store/commits.ts'
import type { NewTask, TaskLimit } from '../store/tasks.ts'

// The rare part of a batch: see `packed-batch.ts`.

/** Reads a packed batch from its beginning, one value after the other. */
export interface PackedReader {
  readonly number: () => number
  readonly text: () => string
}

const ALL = -1
const NONE = -1

/** Takes effects apart. */
export function packEffects(effects: Effects, numbers: number[], texts: string[]): void {
  const { parked, closes, clearsState, state, progress, replies, tasks, dropsTasks } = effects
  packNumbers(parked, numbers)
  if (closes === 'all') numbers.push(ALL)
  else packNumbers(closes, numbers)
  numbers.push(clearsState ? 1 : 0, state.length, replies.length)
  for (const { key, value } of state) {
    texts.push(key)
    packOptional(value, numbers, texts)
  }
  packOptional(progress, numbers, texts)
  for (const { to, payload } of replies) texts.push(to, payload)
  packNumbers(dropsTasks, numbers)
  numbers.push(tasks.length)
  for (const task of tasks) packTask(task, numbers, texts)
}

function packTask(task: NewTask, numbers: number[], texts: string[]): void {
  const { command, token, attempts, startBy, limit } = task
  numbers.push(command, token, attempts, startBy ?? NONE, limit === null ? 0 : 1)
  texts.push(task.activity, task.input, task.tag, task.session, task.options)
  if (limit === null) return
  const { key, concurrency, rate } = limit
  texts.push(key)
  numbers.push(concurrency ?? NONE, rate?.count ?? NONE, rate?.perMs ?? NONE)
}

function packNumbers(list: readonly number[], numbers: number[]): void {
  numbers.push(list.length)
  for (const number of list) numbers.push(number)
}

function packOptional(text: string | null, numbers: number[], texts: string[]): void {
  numbers.push(text === null ? 0 : 1)
  if (text !== null) texts.push(text)
}

/** Puts effects together again. */
export function unpackEffects(reader: PackedReader): Effects {
  const { number, text } = reader
  const optional = (): string | null => (number() === 1 ? text() : null)
  const list = (length: number): number[] => Array.from({ length }, number)
  const change = (): StateChange => ({ key: text(), value: optional() })
  const reply = (): Reply => ({ to: text(), payload: text() })
  const parked = list(number())
  const closed = number()
  const closes = closed === ALL ? 'all' : list(closed)
  const [clearsState, changes, answers] = [number() === 1, number(), number()]
  return {
    parked,
    closes,
    clearsState,
    state: Array.from({ length: changes }, change),
    progress: optional(),
    replies: Array.from({ length: answers }, reply),
    dropsTasks: list(number()),
    tasks: Array.from({ length: number() }, () => unpackTask(reader)),
  }
}

function unpackTask(reader: PackedReader): NewTask {
  const { number, text } = reader
  const [command, token, attempts] = [number(), number(), number()]
  const [startBy, limited] = [number(), number()]
  return {
    command,
    token,
    attempts,
    startBy: startBy === NONE ? null : startBy,
    activity: text(),
    input: text(),
    tag: text(),
    session: text(),
    options: text(),
    limit: limited === 0 ? null : unpackLimit(reader),
  }
}

function unpackLimit({ number, text }: PackedReader): TaskLimit {
  const [concurrency, count, perMs] = [number(), number(), number()]
  return {
    key: text(),
    concurrency: concurrency === NONE ? null : concurrency,
    rate: count === NONE ? null : { count, perMs },
  }
}
