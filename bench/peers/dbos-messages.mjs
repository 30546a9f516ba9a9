// Messages of DBOS under the same load as those of Holdfast.

import { DBOS, measure, plan } from './dbos-process.mjs'

const GO_ON = 0
const LAST = 1

let seen

const counter = DBOS.registerWorkflow(count, { name: 'counter' })
const reader = DBOS.registerWorkflow(read, { name: 'reader' })

await (plan.samples > 0 ? measureLatency() : measure({ load: sendAll }))

/** Receives as many messages as one of them says. */
async function count() {
  let received = 0
  let total = Infinity
  while (received < total) {
    const said = await receive()
    received++
    if (said !== GO_ON) total = said
  }
  return received
}

async function read() {
  while ((await receive()) !== LAST) await DBOS.runStep(async () => seen(), { name: 'seen' })
}

/** There is no waiting without a time-out; what ends by it is no message. */
async function receive() {
  let message
  do message = await DBOS.recv('mail')
  while (message === null)
  return message
}

async function sendAll(ms) {
  const untilMs = performance.now() + ms
  const receivers = await Promise.all(
    Array.from({ length: plan.inFlight }, () => DBOS.startWorkflow(counter)()),
  )
  const counts = await Promise.all(
    receivers.map(async (receiver) => {
      let sent = 0
      while (performance.now() < untilMs) {
        await DBOS.send(receiver.workflowID, GO_ON, 'mail')
        sent++
      }
      await DBOS.send(receiver.workflowID, sent + 1, 'mail')
      return await receiver.getResult()
    }),
  )
  return counts.reduce((sum, received) => sum + received, 0)
}

async function measureLatency() {
  let handle
  const runOne = async () => {
    const received = new Promise((resolve) => (seen = resolve))
    await Promise.all([DBOS.send(handle.workflowID, GO_ON, 'mail'), received])
  }
  await measure({
    prepare: async () => (handle = await DBOS.startWorkflow(reader)()),
    load: async (ms) => {
      const untilMs = performance.now() + ms
      let done = 0
      for (; performance.now() < untilMs; done++) await runOne()
      return done
    },
    runOne,
    finish: async () => {
      await DBOS.send(handle.workflowID, LAST, 'mail')
      await handle.getResult()
    },
  })
}
