import { type Outbox, topic } from 'holdfast/outbox'

export interface Change {
  readonly account: string
  readonly cents: number
}

export const changed = topic<Change>('account-changed')

/** The tables of the bank. */
export const TABLES = `
  create table if not exists changes (n integer primary key, account text, cents integer);
  create table if not exists audit (message integer primary key, account text, cents integer);
  create table if not exists balances (account text primary key, cents integer not null);
  insert or ignore into balances values ('ada', 0), ('ben', 0);
`

/** Writes a line of the audit trail for each change, and keeps the balance. */
export function keepTrail(events: Outbox): void {
  events.handleTransactional(
    changed,
    async ({ id, seq, payload: { account, cents } }, { tx }) => {
      await tx.query('insert into audit (message, account, cents) values ($1, $2, $3)', [
        Number(id),
        account,
        cents,
      ])
      const { rows } = await tx.query(
        'update balances set cents = cents + $2 where account = $1 returning cents',
        [account, cents],
      )
      // What this handler wrote is undone, and nothing else.
      if (rows.length === 0) throw new Error(`no account ${account}`)
      console.log(`  ${account}: change ${seq} of its partition, ${cents}`)
    },
    { maxAttempts: 2, retry: { delay: '20ms' } },
  )
}
