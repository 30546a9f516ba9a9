import { catchRejection } from '../../base/thenable.ts'

const WAITED =
  'on SQLite a transactional handler may only await ctx.tx.query(); do other work in handle()'

/**
 * The result of work that waits for nothing: neither for input nor for time. Throws when it does. What it
 * does afterwards is ignored.
 *
 * A tick that was queued by a microtask comes when there are no more microtasks: whatever has not
 * settled by then waits for something else.
 */
export async function withoutWaiting<T>(work: Promise<T>): Promise<T> {
  let isSettled = false
  const settled = (): void => void (isSettled = true)
  work.then(settled, settled)
  await new Promise<void>((resolve) => {
    queueMicrotask(() => process.nextTick(resolve))
  })
  if (isSettled) return work
  catchRejection(work, () => {})
  throw new Error(WAITED)
}
