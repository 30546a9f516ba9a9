// Workflows of a small shop, one for each thing that the dashboard has to show.

import { activity, channel, failure, stateKey, workflow } from 'holdfast'

const CardDeclined = failure<{ code: string }>('CardDeclined', { retryable: false })

export const approval = channel<{ by: string; ok: boolean }>('approval')
const stage = stateKey<string>('stage')
const parcels = stateKey<{ id: string; weight: number }[]>('parcels')

interface OrderInput {
  readonly customer: string
  readonly total: number
  readonly items: readonly { sku: string; count: number }[]
  /** What goes wrong with it. */
  readonly trouble?: 'declined' | 'flaky' | 'stuck' | 'approval' | 'hang'
}

const reserve = activity('reserve stock', async (items: OrderInput['items']) => {
  await later(12 + items.length * 6)
  return { shelf: `B${items.length}`, until: new Date(Date.now() + 3_600_000) }
})

const charge = activity(
  'charge card',
  { retry: { maxAttempts: 4, backoff: 'fixed', delay: '1s', jitter: false } },
  async (input: OrderInput, ctx) => {
    await later(18)
    if (input.trouble === 'declined') {
      throw new CardDeclined(`card of ${input.customer} was declined`, {
        code: 'insufficient_funds',
      })
    }
    if (input.trouble === 'flaky' && ctx.attempt < 3) {
      throw new Error(`gateway answered 503 (request ${ctx.idempotencyKey.slice(-6)})`)
    }
    return { receipt: `r-${input.total}`, cents: BigInt(Math.round(input.total * 100)) }
  },
)

const label = activity('print label', { tag: 'printer' }, async (parcel: string) => {
  await later(25)
  return `label of ${parcel}`
})

const callCourier = activity(
  'call courier',
  { retry: { maxAttempts: 50, backoff: 'fixed', delay: '10m' } },
  async (_input: string) => {
    throw new Error('connect ECONNREFUSED 10.0.4.17:8443')
  },
)

const hang = activity('count by hand', async (_input: string, ctx) => {
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
})

export const shipment = workflow('shipment', async (order: string, ctx) => {
  await ctx.sleep(40)
  const parcel = await ctx.step('pack parcel', () => `parcel of ${order}`)
  return ctx.run(label, parcel)
})

export const order = workflow('order', { version: '3.1.0' }, async (input: OrderInput, ctx) => {
  ctx.state.set(stage, 'reserving')
  ctx.progress({ stage: 'reserving', done: 0.1 })
  const [stock] = await ctx.all([ctx.run(reserve, input.items), ctx.sleep(30)])
  if (input.trouble === 'approval') {
    ctx.state.set(stage, 'waiting for approval')
    ctx.progress({ stage: 'approval', done: 0.3 })
    const answer = await ctx.receive(approval, { timeout: '2d' })
    if (answer?.ok !== true) throw new Error('nobody approved it')
  }
  ctx.state.set(stage, 'charging')
  const receipt = await ctx.run(charge, input)
  ctx.state.set(parcels, [{ id: `${ctx.info.id}-1`, weight: 1.4 }])
  if (input.trouble === 'hang') await ctx.run(hang, stock.shelf)
  if (input.trouble === 'stuck') await ctx.run(callCourier, stock.shelf)
  ctx.state.set(stage, 'shipping')
  ctx.progress({ stage: 'shipping', done: 0.8 })
  const sent = await ctx.all({
    first: ctx.run(shipment, ctx.info.id, { id: `${ctx.info.id}/shipment` }),
    mail: ctx.step('send mail', async () => {
      await later(10)
      return { to: input.customer, at: new Date() }
    }),
  })
  ctx.state.set(stage, 'done')
  ctx.progress({ stage: 'done', done: 1 })
  return { receipt, ...sent }
})

export const report = workflow('nightly report', async (day: string, ctx) => {
  const rows = await ctx.step('collect rows', () => day.length * 117)
  await ctx.sleep(20)
  if (rows % 2 === 1) throw new RangeError(`report of ${day} has ${rows} rows, at most 900 fit`)
  return { rows }
})

/** As many events as asked for, two for each step. */
export const importCatalog = workflow('import catalog', async (steps: number, ctx) => {
  for (let i = 0; i < steps; i++) {
    await ctx.step(`row ${i}`, () => ({ sku: `sku-${i}`, price: i % 97 }))
  }
  return { imported: steps }
})

/** As many executions as asked for, and one. */
export const count = workflow('count', async (left: number, ctx) => {
  await ctx.step('count', () => left)
  return left === 0 ? 'done' : ctx.continueAsNew(left - 1)
})

export const SHOP = { order, shipment, report, importCatalog, count }

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
