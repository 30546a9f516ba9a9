import { expect, test } from 'vitest'
import { activity, CancelledError, channel, TimeoutError, workflow } from '../../src/index.ts'
import { deferred, describeOnStores, eventually, openSpace } from '../support/engine.ts'

const word = channel<string>('word')

describeOnStores('cancellation', (kind) => {
  test('what the code waits for rejects, its signal aborts, and the status is cancelled', async () => {
    await using space = await openSpace(kind)
    const seen: unknown[] = []
    const waits = workflow('waits', async (_: undefined, ctx) => {
      ctx.signal.addEventListener('abort', () => seen.push('aborted'))
      try {
        await ctx.receive(word)
      } catch (error) {
        seen.push(error, ctx.signal.aborted)
      }
      return 'caught'
    })
    const runtime = await space.open(waits)
    const instance = await runtime.start(waits)

    await instance.cancel('not needed')
    await instance.cancel('a second time')
    const error = await instance.result().catch((caught: unknown) => caught)

    expect(error).toBeInstanceOf(CancelledError)
    expect(error).toMatchObject({ reason: 'not needed' })
    expect(seen).toEqual(['aborted', expect.any(CancelledError), true])
    expect((await instance.info())?.status).toBe('cancelled')
  })

  test('a long reason is shortened', async () => {
    await using space = await openSpace(kind)
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.sleep('1h'))
    const runtime = await space.open(waits)
    const instance = await runtime.start(waits)

    await instance.cancel('r'.repeat(1_000_000))
    const error = (await instance.result().catch((caught: unknown) => caught)) as CancelledError

    expect(error.reason).toMatch(/^r+… \(\d+ more characters\)$/)
    expect(error.reason.length).toBeLessThanOrEqual(4_096)
  })

  test('a running activity is aborted, and its result does not count', async () => {
    await using space = await openSpace(kind)
    const begun = deferred()
    const aborted = deferred<string>()
    const long = activity('long', async (_: undefined, ctx) => {
      begun.resolve()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.resolve((ctx.signal.reason as Error).name)
    })
    const works = workflow('works', async (_: undefined, ctx) => ctx.run(long))
    const runtime = await space.open(works)
    const instance = await runtime.start(works)
    await begun.promise

    await instance.cancel()

    expect(await aborted.promise).toBe('CancelledError')
    await expect(instance.result()).rejects.toThrow(CancelledError)
  })

  test('clean-up runs to its end, even over a restart', async () => {
    await using space = await openSpace(kind)
    const done: string[] = []
    const undo = activity('undo', (what: string) => void done.push(what))
    const tidy = workflow('tidy', async (_: undefined, ctx) => {
      try {
        await ctx.receive(word)
      } finally {
        await ctx.uncancellable(async () => {
          await ctx.run(undo, 'first')
          await ctx.receive(word)
          await ctx.run(undo, 'second')
        })
      }
    })
    const first = await space.open(tidy)
    await (await first.start(tidy, undefined, { id: 'c' })).cancel('stop')
    await eventually(() => done.length === 1)
    await first.close()

    const second = await space.open(tidy)
    expect((await second.get('c').info())?.status).toBe('running')
    await second.get('c').send(word, 'go on')

    await expect(second.get('c').result()).rejects.toThrow('cancelled: stop')
    expect(done).toEqual(['first', 'second'])
  })

  test('commands outside of clean-up are refused at once', async () => {
    await using space = await openSpace(kind)
    const stubborn = workflow('stubborn', async (_: undefined, ctx) => {
      const errors: string[] = []
      for (const wait of [() => ctx.receive(word), () => ctx.sleep('1d'), () => ctx.sleep('1d')]) {
        await wait().catch((error: unknown) => errors.push((error as Error).name))
      }
      await ctx.uncancellable(() => ctx.step('note', () => 1))
      ctx.progress(errors)
    })
    const runtime = await space.open(stubborn)
    const instance = await runtime.start(stubborn)

    await instance.cancel()
    await expect(instance.result()).rejects.toThrow(CancelledError)

    expect((await instance.info())?.progress).toEqual(Array(3).fill('CancelledError'))
  })

  test('code that ignores its cancellation forever is still ended', async () => {
    await using space = await openSpace(kind)
    const deaf = workflow('deaf', async (_: undefined, ctx) => {
      for (;;) await ctx.receive(word).catch(() => {})
    })
    const runtime = await space.open(deaf)
    const instance = await runtime.start(deaf)

    await instance.cancel('enough')

    await expect(instance.result()).rejects.toThrow('cancelled: enough')
  })

  test('clean-up that takes too long is ended', async () => {
    await using space = await openSpace(kind)
    const slow = workflow('slow', { cleanup: 50 }, async (_: undefined, ctx) => {
      try {
        await ctx.receive(word)
      } finally {
        await ctx.uncancellable(() => ctx.sleep('1d'))
      }
    })
    const runtime = await space.open(slow)
    const instance = await runtime.start(slow)

    await instance.cancel('stop')

    await expect(instance.result()).rejects.toThrow('cancelled: stop')
    expect(
      space.log.lines.some(({ message }) => message?.startsWith('clean-up took too long')),
    ).toBe(true)
  })

  test('a listener of ctx.signal that throws fails the workflow, not the process', async () => {
    await using space = await openSpace(kind)
    const throws = workflow('throws', async (_: undefined, ctx) => {
      await ctx
        .scope(
          async (inner) => {
            inner.signal.addEventListener('abort', () => {
              throw new RangeError('from a listener')
            })
            await inner.sleep('1d')
          },
          { timeout: 10 },
        )
        .catch(() => {})
      return 'never'
    })
    const runtime = await space.open(throws)

    await expect(runtime.run(throws)).rejects.toThrow('from a listener')
  })

  test('an instance that has ended cannot be cancelled', async () => {
    await using space = await openSpace(kind)
    const quick = workflow('quick', async () => 1)
    const runtime = await space.open(quick)
    const instance = await runtime.start(quick)
    expect(await instance.result()).toBe(1)

    await instance.cancel()

    expect((await instance.info())?.status).toBe('completed')
    await expect(runtime.get('nobody').cancel()).rejects.toThrow('nobody')
  })

  test('a workflow with a timeout fails with a TimeoutError, after its clean-up', async () => {
    await using space = await openSpace(kind)
    const cleaned: number[] = []
    const hurried = workflow('hurried', { timeout: 30 }, async (_: undefined, ctx) => {
      try {
        await ctx.receive(word)
      } finally {
        await ctx.uncancellable(() => ctx.step('clean', () => void cleaned.push(1)))
      }
    })
    const runtime = await space.open(hurried)
    const instance = await runtime.start(hurried)

    const error = await instance.result().catch((caught: unknown) => caught)

    expect((error as Error).cause ?? error).toBeInstanceOf(TimeoutError)
    expect((await instance.info())?.status).toBe('failed')
    expect(cleaned).toEqual([1])
  })
})

describeOnStores('suspend, resume, terminate', (kind) => {
  test('a suspended instance does nothing until it is resumed, and loses nothing', async () => {
    await using space = await openSpace(kind)
    const ran: string[] = []
    const note = activity('note', (what: string) => void ran.push(what))
    const two = workflow('two', async (_: undefined, ctx) => {
      await ctx.run(note, await ctx.receive(word))
      await ctx.run(note, await ctx.receive(word))
      return 'done'
    })
    const runtime = await space.open(two)
    const instance = await runtime.start(two)
    await instance.send(word, 'a')
    await eventually(() => ran.length === 1)

    await instance.suspend('maintenance')
    await instance.send(word, 'b')
    expect(await instance.info()).toMatchObject({
      status: 'suspended',
      error: { message: expect.stringContaining('maintenance') as string },
    })
    expect(ran).toEqual(['a'])
    await instance.resume()

    expect(await instance.result()).toBe('done')
    expect(ran).toEqual(['a', 'b'])
  })

  test('terminate ends it at once: no clean-up, running activities are aborted', async () => {
    await using space = await openSpace(kind)
    const aborted = deferred()
    const begun = deferred()
    let cleaned = false
    const long = activity('long', async (_: undefined, ctx) => {
      begun.resolve()
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted.resolve()
    })
    const works = workflow('works', async (_: undefined, ctx) => {
      try {
        await ctx.run(long)
      } finally {
        cleaned = true
      }
    })
    const runtime = await space.open(works)
    const instance = await runtime.start(works)
    await begun.promise

    await instance.terminate('broken')

    await expect(instance.result()).rejects.toThrow('workflow "works" was terminated: broken')
    await aborted.promise
    expect(cleaned).toBe(false)
    expect((await instance.info())?.status).toBe('terminated')
    await instance.terminate('again')
  })

  test('one that is suspended can be terminated or cancelled', async () => {
    await using space = await openSpace(kind)
    const waits = workflow('waits', async (_: undefined, ctx) => ctx.receive(word))
    const runtime = await space.open(waits)
    const [one, two] = [await runtime.start(waits), await runtime.start(waits)]
    await one.suspend()
    await two.suspend()

    await one.terminate()
    await two.cancel()
    expect((await one.info())?.status).toBe('terminated')
    expect((await two.info())?.status).toBe('suspended')
    await two.resume()

    await expect(two.result()).rejects.toThrow(CancelledError)
  })
})
