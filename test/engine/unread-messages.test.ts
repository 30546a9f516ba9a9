// More messages than are read at once: those that are not read yet still exist, and have
// come before whatever time brings.

import { expect, test } from 'vitest'

import {
  channel,
  message,
  open,
  type Runtime,
  type Store,
  workflow,
  type WorkflowContext,
} from '../../src/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { deferred, describeOnStores, openSpace, type Space } from '../support/engine.ts'
import { withMethods } from '../support/wrapped-store.ts'

const MESSAGES = 10
// Three of them are read at once.
const large = 'x'.repeat(300_000)
// Much longer than the timeouts of the workflows below.
const SLOW_MS = 15

const notes = channel<string>('notes')
const others = channel<string>('others')

const drain = workflow('drain', async (timeout: number, ctx) => {
  let count = 0
  while ((await ctx.receive(notes, { timeout })) !== undefined) count++
  return count
})

const drainBySleep = workflow('drain by sleep', async (_: undefined, ctx) => {
  for (let count = 0; ; count++) {
    const first = await ctx.race({ got: ctx.receive(notes), late: ctx.sleep(1) })
    if (first.key === 'late') return count
  }
})

const drainByExecutions = workflow('drain by executions', async (count: number, ctx) => {
  const got = await ctx.receive(notes, { timeout: 1 })
  return got === undefined ? count : ctx.continueAsNew(count + 1)
})

const drainBoth = workflow('drain both', async (_: undefined, ctx) => {
  const counts = [0, 0]
  for (let quiet = 0; quiet < 2;) {
    const [first, second] = await ctx.all([
      ctx.receive(notes, { timeout: 1 }),
      ctx.receive(others, { timeout: 1 }),
    ])
    counts[0]! += Number(first !== undefined)
    counts[1]! += Number(second !== undefined)
    quiet = Number(first === undefined) + Number(second === undefined)
  }
  return counts
})

const untilLate = workflow('until late', async (_: undefined, ctx) => {
  let count = 0
  const forever = async (branch: WorkflowContext): Promise<never> => {
    for (; ; count++) await branch.receive(notes)
  }
  await ctx.race({ all: forever, late: ctx.sleep(1) })
  return count
})

const goOn = workflow('go on', async (isFirst: boolean, ctx) =>
  isFirst ? ctx.continueAsNew(false) : ctx.receive(notes, { timeout: 1 }),
)

async function receiveAll(ctx: WorkflowContext): Promise<void> {
  for (let n = 0; n < MESSAGES; n++) await ctx.receive(notes)
}

/** The store of a space, whose `load` is called by `around`. */
function loadingBy(
  { store }: Space,
  observation: (load: () => ReturnType<WorkflowStore['load']>) => ReturnType<WorkflowStore['load']>,
): Store {
  const handle: StoreHandle = {
    kind: store.kind,
    [OPEN_WORKFLOW_STORE]() {
      const inner = (store as StoreHandle)[OPEN_WORKFLOW_STORE]()
      return withMethods(inner, { load: (wanted) => observation(() => inner.load(wanted)) })
    },
  }
  return handle
}

const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function openSlow(space: Space): Promise<Runtime> {
  const store = loadingBy(space, async (load) => {
    await pass(SLOW_MS)
    return load()
  })
  return openOn(store, space)
}

function openOn(store: Store, { log }: Space): Promise<Runtime> {
  const register = [drain, drainBySleep, drainByExecutions, drainBoth, untilLate, goOn]
  return open(store, { register, log })
}

async function sendLarge(space: Space, id: string, to = notes): Promise<void> {
  const instance = space.connect().get(id)
  for (let n = 0; n < MESSAGES; n++) await instance.send(to, large)
}

describeOnStores(
  'messages that are not read yet',
  (kind) => {
    test.each([0, 1, 5])('are all received before a timeout of %i ms', async (timeout) => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      await using runtime = await openSlow(space)

      expect(await runtime.run(drain, timeout, { id: 'x' })).toBe(MESSAGES)
    })

    test('come before a timer that races them', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      await using runtime = await openSlow(space)

      expect(await runtime.run(drainBySleep, undefined, { id: 'x' })).toBe(MESSAGES)
    })

    test('come before the timeouts of later executions', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      await using runtime = await openSlow(space)

      expect(await runtime.run(drainByExecutions, 0, { id: 'x' })).toBe(MESSAGES)
    })

    test('come before timeouts on each of two channels', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      await sendLarge(space, 'x', others)
      await using runtime = await openSlow(space)

      const counts = await runtime.run(drainBoth, undefined, { id: 'x' })

      expect(counts).toEqual([MESSAGES, MESSAGES])
    })

    test('are read again when that fails', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      let loads = 0
      const store = loadingBy(space, async (load) => {
        // The first one comes with the claim.
        if (++loads % 3 === 2) throw new StoreError('connection_lost', 'load', 'a test')
        return load()
      })
      await using runtime = await openOn(store, space)

      expect(await runtime.run(drain, 1, { id: 'x' })).toBe(MESSAGES)
      expect(loads).toBeGreaterThan(4)
    })

    test('do not put off a timer once those that came before it are received', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      const sender = space.connect().get('x')
      const store = loadingBy(space, async (load) => {
        // One more than is read at once: it never ends.
        for (let n = 0; n < 4; n++) await sender.send(notes, large)
        await pass(SLOW_MS)
        return load()
      })
      await using runtime = await openOn(store, space)

      const count = await runtime.run(untilLate, undefined, { id: 'x', timeout: '10s' })

      expect(count).toBeGreaterThanOrEqual(MESSAGES)
    })

    test('are received by the runtime that takes over from one that could not read them', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      const reading = deferred()
      const closing = deferred()
      let loads = 0
      const store = loadingBy(space, async (load) => {
        if (++loads === 1) return load()
        await pass(SLOW_MS)
        reading.resolve()
        await closing.promise
        throw new StoreError('connection_lost', 'load', 'a test')
      })
      const first = await openOn(store, space)
      await first.start(drain, 1, { id: 'x' })
      await reading.promise
      const closed = first.close()
      closing.resolve()
      await closed
      await using second = await openSlow(space)

      expect(await second.get('x').result()).toBe(MESSAGES)
    })
  },
  ['file', 'postgres'],
)

describeOnStores(
  'an instance that waits for a message that is not read yet',
  (kind) => {
    test('is not released by a runtime that closes while a step of it runs', async () => {
      await using space = await openSpace(kind)
      await sendLarge(space, 'x')
      const begun = deferred()
      const finish = deferred()
      let runs = 0
      const work = async (): Promise<void> => {
        runs++
        begun.resolve()
        await finish.promise
      }
      const both = workflow('both', async (_: undefined, ctx) => {
        await ctx.all([ctx.step('work', work), receiveAll])
        return 'done'
      })
      const reading = deferred()
      let loads = 0
      const store = loadingBy(space, async (load) => {
        if (++loads === 1) return load()
        reading.resolve()
        throw new StoreError('connection_lost', 'load', 'a test')
      })
      const first = await open(store, { register: [both], log: space.log })
      await first.start(both, undefined, { id: 'x' })
      await Promise.all([begun.promise, reading.promise])
      const closed = first.close()
      // On a file its tick, which comes three times in a lease, finds what was given away.
      await using second = await space.open([both], { lease: '3s' })
      await second.idle()
      finish.resolve()
      await closed

      expect(await second.get('x').result()).toBe('done')
      expect(runs).toBe(1)
    })
  },
  ['file', 'postgres'],
)

describeOnStores(
  'a message that came with a start',
  (kind) => {
    test.each([drain, drainByExecutions])('comes before a timeout of $name', async (reader) => {
      await using space = await openSpace(kind)
      await using runtime = await openSlow(space)
      const input = reader === drain ? 1 : 0

      expect(await runtime.run(reader, input, { send: message(notes, 'small') })).toBe(1)
    })

    test('comes before a timeout of the execution after the first', async () => {
      await using space = await openSpace(kind)
      await using runtime = await openSlow(space)

      expect(await runtime.run(goOn, true, { send: message(notes, 'small') })).toBe('small')
    })
  },
  ['file', 'postgres'],
)
