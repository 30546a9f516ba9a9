// Messages within one process, from `send` to `receive`.

import { channel, type Runtime, workflow } from '../build/index.js'
import { checkRecorded, type Place, withRuntime } from './holdfast.ts'
import type { Plan } from './peer.ts'
import { fullLoad, oneAtATime } from './shapes.ts'

/** Where all measured messages go. */
export const mail = channel<number>('mail')

const GO_ON = 0
const LAST = 1

/** Messages per second: `inFlight` senders, each to an instance of its own, until all is received. */
export async function messageRate(place: Place, plan: Plan): Promise<number> {
  const { warmUp, load } = await withRuntime(place.store(), counter, async (runtime) => ({
    warmUp: await sendAll(runtime, { ...plan, ms: plan.warmUpMs }),
    load: await sendAll(runtime, plan),
  }))
  const instances = 2 * plan.inFlight
  await checkRecorded(place, 'CHANNEL', {
    completed: instances,
    events: 2 * instances + 2 * (warmUp.messages + load.messages),
    waiting: 0,
  })
  return load.messages / load.seconds
}

/**
 * Receives as many messages as one of them says. Which one that is does not matter, since not every
 * peer keeps the order.
 */
const counter = workflow<undefined, number>('counter', async (_, ctx) => {
  let received = 0
  let total = Infinity
  while (received < total) {
    const said = await ctx.receive(mail)
    received++
    if (said !== GO_ON) total = said
  }
  return received
})

async function sendAll(
  runtime: Runtime,
  { inFlight, ms }: Plan,
): Promise<{ messages: number; seconds: number }> {
  const startMs = performance.now()
  const receivers = await Promise.all(
    Array.from({ length: inFlight }, () => runtime.start(counter)),
  )
  const counts = await Promise.all(
    receivers.map(async (receiver) => {
      let sent = 0
      while (performance.now() - startMs < ms) {
        await receiver.send(mail, GO_ON)
        sent++
      }
      await receiver.send(mail, sent + 1)
      return receiver.result()
    }),
  )
  const seconds = (performance.now() - startMs) / 1_000
  return { messages: counts.reduce((sum, count) => sum + count, 0), seconds }
}

/**
 * Milliseconds from `send` until the receiver has its first effect, one message at a time. By then
 * it is recorded that the message was received.
 */
export async function messageLatency(place: Place, plan: Plan): Promise<number[]> {
  let seen!: () => void
  const reader = workflow<undefined, void>('reader', async (_, ctx) => {
    while ((await ctx.receive(mail)) !== LAST) await ctx.step('seen', () => seen())
  })
  let messages = 0
  const latencies = await withRuntime(place.store(), reader, async (runtime) => {
    const instance = await runtime.start(reader)
    const sendOne = async (): Promise<void> => {
      messages++
      const received = new Promise<void>((resolve) => (seen = resolve))
      await Promise.all([instance.send(mail, GO_ON), received])
    }
    await fullLoad(sendOne, { inFlight: 1, ms: plan.warmUpMs })
    const took = await oneAtATime(sendOne, plan.samples)
    await instance.send(mail, LAST)
    await instance.result()
    return took
  })
  // Started and ended, two for each message, two for each step, and the last message.
  await checkRecorded(place, 'CHANNEL', { completed: 1, events: 2 + 4 * messages + 2, waiting: 0 })
  return latencies
}
