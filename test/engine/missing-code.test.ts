// Starts that no runtime can run: a caller that waits for one learns what it waits for.

import { expect, test } from 'vitest'

import { activity, type Log, TimeoutError, workflow } from '../../src/index.ts'
import { describeOnStores, openSpace } from '../support/engine.ts'
import { memoryLog } from '../support/workers.ts'

const hello = workflow('hello', async (name: string) => `hello ${name}`)
const other = workflow('other', async () => 1)
const silent = { debug() {}, info() {}, error() {} }

describeOnStores('an instance whose code no runtime has', (kind) => {
  test('a client that waits for it learns which runtime is missing', async () => {
    await using space = await openSpace(kind)
    const instance = await space.connect().start(hello, 'Kim', { id: 'h' })

    const info = await instance.info()
    const late = await instance.result({ timeout: 300 }).catch((error: unknown) => error)

    expect(info!.waitingFor).toEqual([
      'a runtime that registers workflow "hello" (no live runtime does)',
    ])
    expect(late).toBeInstanceOf(TimeoutError)
    expect((late as Error).message).toBe(
      'result: instance "h" took longer than 300 ms; it is waiting for a runtime that registers workflow "hello" (no live runtime does)',
    )
  })

  test('a runtime without the code says that it is not the one', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(other)
    const instance = await runtime.start(hello, 'Kim', { id: 'h' })

    const late = await instance.result({ timeout: 300 }).catch((error: unknown) => error)

    expect((late as Error).message).toMatch(
      /it is waiting for a runtime that registers workflow "hello" \(no live runtime does, including this one\)$/,
    )
  })
})

test('registering other code for an activity than the workflow calls is logged', async () => {
  const lines = memoryLog()
  // As pino does: inside a workflow this would be refused.
  const warn: Log = (data, message) => lines.warn({ ...data, at: Date.now() }, message)
  await using space = await openSpace('memory')
  const mail = activity('mail', async () => 'real')
  const fake = activity('mail', async () => 'fake')
  const send = workflow('send', async (_: undefined, ctx) => ctx.run(mail, undefined))
  const runtime = await space.open([send, fake], { log: { ...silent, warn } })

  const result = await runtime.run(send, undefined)

  expect(result).toBe('real')
  expect(lines.at('warn')).toEqual([
    expect.stringMatching(/^a workflow calls a different definition of this activity/),
  ])
})
