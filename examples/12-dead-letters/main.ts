// What can be done about messages that cannot be delivered: look at them, deliver one by hand, put one back
// when the cause is fixed, give up the rest.
//
//   npm run build && npx tsx examples/12-dead-letters/main.ts [file:letters.db]

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'holdfast'
import { outbox, topic } from 'holdfast/outbox'
import { openDatabase } from 'holdfast/sqlite'

interface Letter {
  readonly to: string
}

// One partition: everything is delivered in order.
const letters = topic<Letter>('letters', { partitions: 1 })

const url = process.argv[2] ?? `file:${join(mkdtempSync(join(tmpdir(), 'post-')), 'post.db')}`
// Each dead letter would be an error in the log.
const log = { debug() {}, info() {}, warn() {}, error() {} }
await using holdfast = connect(url, { log })
const events = outbox(holdfast)

const known = new Set(['ada'])

events.handle(letters, async ({ id, payload: { to } }, ctx) => {
  if (!known.has(to)) ctx.reject(`no address of ${to}`)
  console.log(`letter ${id} to ${to}: delivered`)
})
await events.start()

const post = openDatabase({ path: url.slice('file:'.length) })
post.exec('begin immediate')
await events.in(post).enqueueMany(
  letters,
  ['ben', 'ada', 'cyd', 'dot'].map((to) => ({ payload: { to } })),
)
post.exec('commit')
post.close()

// Rejected messages do not hold up the others.
await events.drain({ timeout: '10s' })
const { deadLetters } = events
const { items } = await deadLetters.list({ topic: 'letters' })
for (const { id, message, status, reason } of items.toReversed()) {
  console.log(`dead letter ${id}: message ${message.id}, ${status}, ${reason}`)
}

// By hand: for 30 seconds the oldest one is ours alone.
const [ours] = await deadLetters.replay({ limit: 1 })
console.log(`replay: letter to ${(ours!.message.payload as Letter).to} is ${ours!.status}`)
console.log(`resolved: ${await deadLetters.resolve([ours!.id])}`)

// By the handler, once the cause is fixed: behind all other messages.
known.add('cyd')
const again = items.filter(({ message }) => (message.payload as Letter).to === 'cyd')
console.log(`requeued: ${await deadLetters.requeue(again.map(({ id }) => id))}`)
await events.drain({ timeout: '10s' })

// Given up: what is still pending.
console.log(`discarded: ${await deadLetters.discard({ topic: 'letters' })}`)
console.log(`left pending: ${await deadLetters.count()}`)
console.log(`kept for the record: ${await deadLetters.count({ status: 'any' })}`)
console.log(`removed: ${await deadLetters.cleanup()}`)
