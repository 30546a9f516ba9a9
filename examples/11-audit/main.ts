// An audit trail in the same database, written by a transactional handler: what it writes and the fact that
// the message was delivered are one commit. Kill it anywhere and run it again: the trail has one line for
// each change, and the balance is that of the trail.
//
//   npm run build && npx tsx examples/11-audit/main.ts [file:bank.db]

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'holdfast'
import { outbox } from 'holdfast/outbox'
import { openDatabase } from 'holdfast/sqlite'
import { type Change, changed, keepTrail, TABLES } from './audit.ts'

const url = process.argv[2] ?? `file:${join(mkdtempSync(join(tmpdir(), 'bank-')), 'bank.db')}`
await using holdfast = connect(url)
const events = outbox(holdfast)

keepTrail(events)
await events.start()

const bank = openDatabase({ path: url.slice('file:'.length) })
bank.exec(TABLES)

/** Records changes and enqueues messages about them: all of them, or none. */
async function record(n: number, changes: readonly Change[]): Promise<void> {
  bank.exec('begin immediate')
  const { changes: isNew } = bank
    .prepare('insert or ignore into changes values (?, ?, ?)')
    .run(n, changes[0]!.account, changes[0]!.cents)
  if (Number(isNew) === 1) {
    const messages = changes.map((payload) => ({ payload, key: payload.account }))
    await events.in(bank).enqueueMany(changed, messages)
  }
  bank.exec('commit')
}

await record(1, [
  { account: 'ada', cents: 700 },
  { account: 'ben', cents: -700 },
])
await record(2, [{ account: 'unknown', cents: 1 }])
await record(3, [
  { account: 'ada', cents: -200 },
  { account: 'ben', cents: 200 },
])

await events.drain({ timeout: '20s' })
const show = (what: string, sql: string): void =>
  console.log(
    what,
    JSON.stringify(
      bank
        .prepare(sql)
        .all()
        .map((row) => Object.values(row as object)),
    ),
  )
show('audit', 'select account, cents from audit order by account, message')
show('balances', 'select * from balances order by account')
for (const { reason } of (await events.deadLetters.list()).items) console.log(`dead: ${reason}`)
bank.close()
