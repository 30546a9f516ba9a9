import { sleep, systemClock } from '../../base/time/clock.ts'
import type { PgClient, PgPool, Statement, StatementResult } from '../../postgres/connect/driver.ts'
import type { Strike } from './fault.ts'

/** Decides what happens to statements and notifications. */
export interface PoolFaults {
  /** What happens to a statement: the effects of all faults that struck, one after the other. */
  strikes(statement: string): readonly Strike[]
  /** Whether a notification is lost. */
  losesHint(): boolean
}

/** A pool whose statements may fail, and which records its listen connections. */
export interface FaultyPool extends PgPool {
  /** The process ids of the server's sessions that listen. */
  listeners(): number[]
}

/** Puts faults between a store and its pool. */
export function faultyPool(pool: () => Promise<PgPool>, faults: PoolFaults): FaultyPool {
  const listening = new Set<PgClient>()

  const lend = (client: PgClient): PgClient => ({
    processID: client.processID ?? null,
    async query(statement) {
      const name = statementName(statement.text)
      if (name === 'listen') listening.add(client)
      return queryWith(client, statement, faults.strikes(name))
    },
    // Listeners also subscribe to events that the port does not name.
    on(event: string, listener: (message: Error) => void) {
      const filtered = (message: Error): void => {
        if (!faults.losesHint()) listener(message)
      }
      client.on(event as 'error', event === 'notification' ? filtered : listener)
    },
    removeListener: (event, listener) => client.removeListener(event, listener),
    release(destroy) {
      listening.delete(client)
      client.release(destroy)
    },
  })

  return {
    connect: async () => lend(await (await pool()).connect()),
    // Its listeners only keep an idle connection that breaks from ending the process, and the pool
    // inside does that already.
    on: () => {},
    removeListener: () => {},
    end: async () => (await pool()).end(),
    listeners: () => [...listening].flatMap(({ processID }) => processID ?? []),
  }
}

const CALL = /^select (?:\* from )?"(?:[^"]|"")+"\."(\w+)"\(/

/** The name of the procedure that is called, or the first word of another statement. */
function statementName(text: string): string {
  return CALL.exec(text)?.[1] ?? /\w+/.exec(text)?.[0].toLowerCase() ?? ''
}

const clock = systemClock()

async function queryWith(
  client: PgClient,
  statement: Statement,
  strikes: readonly Strike[],
): Promise<StatementResult> {
  for (const { delayMs } of strikes) if (delayMs > 0) await sleep(clock, delayMs)
  for (const strike of strikes) if (strike.when === 'before') await fail(client, statement, strike)
  const answer = await client.query(statement)
  for (const strike of strikes) if (strike.when === 'after') await fail(client, statement, strike)
  return answer
}

async function fail(client: PgClient, { text }: Statement, strike: Strike): Promise<void> {
  const { sqlState, error, when } = strike
  if (error !== undefined) throw error()
  if (sqlState === undefined) return
  try {
    await client.query({
      text: `do 'begin raise exception using
        errcode = ''${sqlState}'', message = ''a fault was injected (${sqlState})''; end'`,
    })
  } finally {
    // A commit that fails ends its transaction.
    if (when === 'before' && statementName(text) === 'commit') {
      await client.query({ text: 'rollback' }).catch(() => {})
    }
  }
}
