import { expect, test } from 'vitest'

import {
  channel,
  ConflictError,
  NotFoundError,
  stateKey,
  workflow,
  WorkflowError,
} from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { typesOf } from '../support/histories.ts'

const go = channel<string>('go')
const kept = stateKey<{ when: Date }>('kept')
const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(go))
const quick = workflow('quick', async () => 'done')

describeOnStores('terminating', (kind) => {
  test('an instance ends at once, without clean-up, and its result says so', async () => {
    await using space = await openSpace(kind)
    let cleaned = false
    const tidy = workflow('tidy', async (_, ctx) => {
      try {
        await ctx.receive(go)
      } finally {
        cleaned = true
      }
    })
    const holdfast = await space.open(tidy)
    const handle = await holdfast.start(tidy, undefined, { id: 'x' })
    const result = handle.result().catch((error: unknown) => error)

    await handle.terminate('stuck')
    await handle.terminate('again')

    expect(await result).toBeInstanceOf(WorkflowError)
    expect(await result).toMatchObject({
      message: 'workflow "tidy" was terminated: stuck',
      instanceId: 'x',
      workflow: 'tidy',
      originalName: 'TerminatedError',
    })
    expect(await handle.info()).toMatchObject({
      status: 'terminated',
      waitingFor: [],
      error: { name: 'WorkflowError', message: 'workflow "tidy" was terminated: stuck' },
    })
    expect(cleaned).toBe(false)
    await expect(handle.send(go, 'x')).rejects.toThrow('send: instance "x" has ended (terminated)')
  })

  test('a client terminates an instance of another process; nothing more of it is recorded', async () => {
    await using space = await openSpace(kind)
    const finish = deferred()
    const slow = workflow('slow', async (_, ctx) => {
      await ctx.step('slow', () => finish.promise)
      return 'done'
    })
    const holdfast = await space.open(slow)
    const handle = await holdfast.start(slow)
    await eventually(async () => (await handle.info())?.waitingFor)

    await space.connect().get(handle.id).terminate()
    finish.resolve()

    await expect(handle.result()).rejects.toThrow('workflow "slow" was terminated')
    expect(await typesOf(handle)).toEqual(['started', 'step', 'ended'])
  })

  test('scheduled and suspended instances can be terminated, unknown ones cannot', async () => {
    await using space = await openSpace(kind)
    const client = space.connect()
    const scheduled = await client.start(waits, undefined, { delay: '1d' })
    const suspended = await client.start(waits)
    await suspended.suspend()

    await scheduled.terminate()
    await suspended.terminate()

    expect((await scheduled.info())?.status).toBe('terminated')
    expect((await suspended.info())?.status).toBe('terminated')
    await expect(client.get('none').terminate()).rejects.toThrow(
      'terminate: there is no instance "none"',
    )
  })
})

describeOnStores('suspending', (kind) => {
  test('a suspended instance does nothing until it is resumed; messages meanwhile are not lost', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(waits)
    const handle = await holdfast.start(waits)
    await eventually(async () => (await handle.info())?.waitingFor)

    await handle.suspend('for a look')
    await handle.send(go, 'on')
    const info = await handle.info()
    const early = handle.result({ timeout: 50 })

    expect(info).toMatchObject({
      status: 'suspended',
      waitingFor: [],
      error: { name: 'Error', message: 'suspended: for a look' },
    })
    await expect(early).rejects.toThrow('took longer than 50 ms')
    await handle.resume()
    expect(await handle.result()).toBe('on')
  })

  test('suspending again keeps the reason', async () => {
    await using space = await openSpace(kind)
    const handle = await space.connect().start(waits)

    await handle.suspend('first')
    await handle.suspend('second')

    expect((await handle.info())?.error?.message).toBe('suspended: first')
  })

  test('an ended instance stays as it is, an unknown one is an error', async () => {
    await using space = await openSpace(kind)
    const holdfast = await space.open(quick)
    const handle = await holdfast.start(quick)
    await handle.result()

    await handle.suspend()
    await expect(handle.resume()).rejects.toThrow(ConflictError)

    expect((await handle.info())?.status).toBe('completed')
    for (const verb of ['suspend', 'resume'] as const) {
      await expect(holdfast.get('none')[verb]()).rejects.toThrow(
        `${verb}: there is no instance "none"`,
      )
    }
  })
})

describeOnStores('looking at an instance', (kind) => {
  test('info says what it waits for', async () => {
    await using space = await openSpace(kind)
    const child = workflow('child', async (_: undefined, ctx) => ctx.receive(go))
    const parent = workflow('parent', async (_: undefined, ctx) => {
      await ctx.all([ctx.receive(go), ctx.run(child, undefined, { id: 'c' }), ctx.sleep('1d')])
    })
    const holdfast = await space.open([parent, child])
    await holdfast.start(parent, undefined, { id: 'p', labels: { a: 'b' } })

    const info = await eventually(async () => {
      const now = await holdfast.get('p').info()
      return now?.waitingFor.length === 3 ? now : undefined
    })

    expect(info.waitingFor).toEqual([
      'message on channel "go"',
      'child "c" of workflow "child"',
      expect.stringMatching(/^timer until \d{4}-/),
    ])
    expect(info).toMatchObject({ status: 'running', labels: { a: 'b' } })
    const ofChild = await eventually(() => holdfast.get('c').info())
    expect(ofChild).toMatchObject({ parentId: 'p', workflow: 'child' })
  })

  test('info says that no runtime has the code of an instance', async () => {
    await using space = await openSpace(kind)
    await space.connect().start(waits, undefined, { id: 'x' })
    const holdfast = await space.open(quick)

    const info = await holdfast.get('x').info()

    expect(info?.waitingFor).toEqual([
      'a runtime that registers workflow "waits" (no live runtime does, including this one)',
    ])
  })

  test('state can be read while it runs and after its end', async () => {
    await using space = await openSpace(kind)
    const keeps = workflow('keeps', async (_: undefined, ctx) => {
      ctx.state.set(kept, { when: new Date(0) })
      await ctx.receive(go)
    })
    const holdfast = await space.open(keeps)
    const handle = await holdfast.start(keeps)

    const during = await eventually(() => handle.readState(kept))
    await handle.send(go, 'on')
    await handle.result()

    expect(during).toEqual({ when: new Date(0) })
    expect(await space.connect().get(handle.id).readState(kept)).toEqual(during)
    expect(await handle.readState(stateKey('other'))).toBeUndefined()
    await expect(holdfast.get('none').readState(kept)).rejects.toThrow(NotFoundError)
    await expect(handle.readState('kept' as never)).rejects.toThrow(
      'readState: needs a key made by stateKey(), got "kept"',
    )
  })
})
