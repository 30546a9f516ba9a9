// Structured concurrency: groups of branches, scopes and sagas.
//
//   - Whatever ends a group (a failure, a winner, a cancellation) cancels the rest of it.
//   - A group settles only when all its functions have ended, so that their clean-up always completes.

import { describe } from '../../base/describe.ts'
import { CancelledError, TimeoutError } from '../../base/errors.ts'
import { number, resolveOptions } from '../../base/options.ts'
import { duration } from '../../base/time/duration.ts'
import { cancellable, type CommandPromise } from '../replay/command-promise.ts'
import type { Scope } from '../replay/scope.ts'
import type { Frame } from './frame.ts'
import { momentAfter } from '../core/moments.ts'
import type { Branch, WorkflowContext } from '../define/workflow-context.ts'

/** The part of the context for structured concurrency. */
export type Structure = Pick<
  WorkflowContext,
  'all' | 'race' | 'map' | 'scope' | 'uncancellable' | 'saga'
>
type Run = (ctx: WorkflowContext) => Promise<unknown>

/** Creates that part of a context. */
export function makeStructure(
  frame: Frame,
  scope: Scope,
  makeContext: (scope: Scope) => WorkflowContext,
): Structure {
  const enter = (run: Run, options?: { shielded: boolean }) =>
    frame.enter(scope, makeContext, run, options)

  const start = (what: string, key: string, branch: unknown): CommandPromise => {
    if (typeof branch === 'function') return enter(branch as Run).promise
    if (typeof (branch as CommandPromise | undefined)?.cancel === 'function') {
      return branch as CommandPromise
    }
    throw new TypeError(
      `${what}: branch "${key}" must be a promise of this context or a function (ctx) => …, ` +
        `got ${branch instanceof Promise ? 'a promise that cannot be cancelled' : describe(branch)}`,
    )
  }

  return {
    all: ((branches: readonly Branch[] | Readonly<Record<string, Branch>>) => {
      const keys = Object.keys(checkGroup('ctx.all', branches))
      const promises = Object.values(branches).map((branch, i) =>
        start('ctx.all', keys[i]!, branch),
      )
      return group(promises, async (end) => {
        try {
          const values = await Promise.all(promises)
          return Array.isArray(branches)
            ? values
            : Object.fromEntries(keys.map((key, i) => [key, values[i]]))
        } catch (error) {
          await end('another branch of ctx.all failed')
          throw error
        }
      })
    }) as Structure['all'],

    race: ((branches: Readonly<Record<string, Branch>>) => {
      const entries = Object.entries(checkGroup('ctx.race', branches))
      if (entries.length === 0) throw new TypeError('ctx.race: needs a branch, got none')
      const promises = entries.map(([key, branch]) => start('ctx.race', key, branch))
      return group(promises, async (end) => {
        try {
          return await Promise.race(
            promises.map((promise, i) => promise.then((value) => ({ key: entries[i]![0], value }))),
          )
        } finally {
          await end('another branch of ctx.race came first')
        }
      })
    }) as Structure['race'],

    map: ((
      items: readonly unknown[],
      run: (item: unknown, ctx: WorkflowContext, index: number) => Promise<unknown>,
      options?: { concurrency?: number },
    ) => {
      if (!Array.isArray(items)) {
        throw new TypeError(`ctx.map: needs a list of items, got ${describe(items)}`)
      }
      checkCode('ctx.map', run)
      const { concurrency } = resolveOptions('ctx.map', options, {
        concurrency: number({ min: 1, integer: true }, Infinity),
      })
      const all = [...(items as readonly unknown[])]
      const inner = enter(async (outer) => {
        const results: unknown[] = []
        let next = 0
        let failed = false
        const lane = async (): Promise<void> => {
          while (next < all.length && !failed) {
            const index = next++
            results[index] = await outer.scope((ctx) => run(all[index], ctx, index))
          }
        }
        const count = Math.min(concurrency, all.length)
        const lanes = Array.from({ length: count }, () => lane())
        try {
          await Promise.all(lanes)
          return results
        } catch (error) {
          failed = true
          inner.promise.cancel('another item of ctx.map failed')
          await Promise.allSettled(lanes)
          throw error
        }
      })
      return inner.promise
    }) as Structure['map'],

    scope: ((run: Run, options?: { timeout?: number }) => {
      checkCode('ctx.scope', run)
      const { timeout } = resolveOptions('ctx.scope', options, {
        timeout: duration(undefined),
      })
      return timeout === undefined
        ? enter(run).promise
        : runTimed(frame, scope, makeContext, run, timeout, 'ctx.scope')
    }) as Structure['scope'],

    uncancellable: ((run: Run) => {
      checkCode('ctx.uncancellable', run)
      return enter(run, { shielded: true }).promise
    }) as Structure['uncancellable'],

    saga: ((run: (undo: (compensate: () => Promise<unknown>) => void) => Promise<unknown>) => {
      checkCode('ctx.saga', run)
      return enter((ctx) => runSaga(run, ctx)).promise
    }) as Structure['saga'],
  }
}

/** Combines a group into one promise, which cancels all of it. */
function group(
  promises: readonly CommandPromise[],
  settle: (end: (reason: string) => Promise<void>) => Promise<unknown>,
): CommandPromise {
  const cancel = (reason: string): void => {
    for (const promise of promises) promise.cancel(reason)
  }
  const end = async (reason: string): Promise<void> => {
    cancel(reason)
    await Promise.allSettled(promises)
  }
  const own = promises.filter(({ isAwaited }) => !isAwaited)
  const combined = cancellable(settle(end), cancel)
  for (const promise of own) promise.partOf = combined
  return combined
}

/** Runs code in a scope that is cancelled after a timeout. */
export function runTimed(
  frame: Frame,
  outer: Scope,
  makeContext: (scope: Scope) => WorkflowContext,
  run: Run,
  timeoutMs: number,
  what: string,
): CommandPromise {
  const { run: execution } = frame.instance
  const fireAt = momentAfter(execution.at, timeoutMs)
  // Issued before the code runs, so that its place in history does not depend on the code.
  const timer = frame.give(outer, { type: 'timer', command: 0, fireAt }, undefined)
  const inner = frame.enter(outer, makeContext, run)
  let late: TimeoutError | undefined
  void timer.then(
    () => {
      late = new TimeoutError(`${what} took longer than ${timeoutMs} ms`, timeoutMs)
      inner.promise.cancel(`timed out after ${timeoutMs} ms`)
      return undefined
    },
    () => {},
  )
  const settled = async (): Promise<unknown> => {
    const [end] = await Promise.allSettled([inner.promise])
    timer.cancel('the timed code has ended')
    // However the code handled its cancellation, it timed out.
    if (late !== undefined) throw withCause(late, end)
    if (end.status === 'rejected') throw end.reason
    return end.value
  }
  const combined = cancellable(settled(), (reason) => inner.promise.cancel(reason))
  inner.promise.partOf = combined
  return combined
}

function withCause(late: TimeoutError, end: PromiseSettledResult<unknown>): TimeoutError {
  if (end.status === 'fulfilled' || end.reason instanceof CancelledError) return late
  return new TimeoutError(late.message, late.afterMs, { cause: end.reason })
}

async function runSaga(
  run: (undo: (compensate: () => Promise<unknown>) => void) => Promise<unknown>,
  ctx: WorkflowContext,
): Promise<unknown> {
  const undos: (() => Promise<unknown>)[] = []
  try {
    return await run((compensate) => undos.push(checkCode('ctx.saga: undo', compensate)))
  } catch (error) {
    const failed: unknown[] = []
    await ctx.uncancellable(async () => {
      for (const undo of undos.toReversed()) {
        try {
          await undo()
        } catch (undoError) {
          // The other steps still have to be undone.
          failed.push(undoError)
        }
      }
    })
    if (failed.length === 0) throw error
    throw new AggregateError(
      [error, ...failed],
      `ctx.saga failed: ${messageOf(error)}; ${failed.length} of ${undos.length} undo functions failed ` +
        `as well, so their effects remain: ${failed.map(messageOf).join('; ')}`,
      { cause: error },
    )
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : describe(error)
}

function checkGroup<T>(what: string, branches: T): T {
  if (typeof branches === 'object' && branches !== null) return branches
  throw new TypeError(`${what}: needs branches by name, got ${describe(branches)}`)
}

function checkCode<T>(what: string, code: T): T {
  if (typeof code === 'function') return code
  throw new TypeError(`${what}: needs a function, got ${describe(code)}`)
}
