import type { TestRunner } from './contract/store-under-test.ts'
import { describeClaims } from './outbox-contract/claims.ts'
import { describeClosing } from './outbox-contract/closing.ts'
import { describeDeadLetterVerbs } from './outbox-contract/dead-letter-verbs.ts'
import { describeDeadLetters } from './outbox-contract/dead-letters.ts'
import { describeDeaths } from './outbox-contract/deaths.ts'
import { describeDelayed } from './outbox-contract/delayed.ts'
import { describeEnqueue } from './outbox-contract/enqueue.ts'
import { describeLater } from './outbox-contract/later.ts'
import { describeListening } from './outbox-contract/listening.ts'
import { describeLooking } from './outbox-contract/looking.ts'
import type { OutboxUnderTest } from './outbox-contract/outbox-under-test.ts'
import { describeOverlapping } from './outbox-contract/overlapping.ts'
import { describePrefixes } from './outbox-contract/prefixes.ts'
import { describeReading } from './outbox-contract/reading.ts'
import { describeRemoving } from './outbox-contract/removing.ts'
import { type OutboxContract, OutboxScene } from './outbox-contract/scene.ts'
import { describeSettling } from './outbox-contract/settling.ts'
import { describeStats } from './outbox-contract/stats.ts'
import { describeTexts } from './outbox-contract/texts.ts'
import { describeTopics } from './outbox-contract/topics.ts'
import { describeTransactions } from './outbox-contract/transactions.ts'
import { describeWaiting } from './outbox-contract/waiting.ts'

/** What not every store can do. */
export interface OutboxStoreTraits {
  /** Whether transactions can be open at the same time that have enqueued messages. */
  readonly canOverlap: boolean
}

/**
 * What every store of an outbox must do. Call it once per store; `open` makes a fresh one for each test.
 *
 * @example
 * import { describe, expect, test } from 'vitest'
 *
 * describeOutboxStore('SQLite', openSqliteOutbox, { describe, expect, test }, { canOverlap: false })
 */
export function describeOutboxStore(
  name: string,
  open: () => Promise<OutboxUnderTest>,
  runner: TestRunner,
  { canOverlap }: OutboxStoreTraits,
): void {
  const { describe, expect, test } = runner
  const contract: OutboxContract = {
    describe,
    expect,
    test,
    open: async () => new OutboxScene(await open()),
  }
  describe(`${name}: outbox store`, () => {
    describeTopics(contract)
    describeEnqueue(contract)
    describeDelayed(contract)
    describeClaims(contract)
    describeReading(contract)
    describeSettling(contract)
    describeDeaths(contract)
    describeLater(contract)
    describeWaiting(contract)
    describeLooking(contract)
    describeDeadLetters(contract)
    describeDeadLetterVerbs(contract)
    describeRemoving(contract)
    describeStats(contract)
    describeTransactions(contract)
    describeTexts(contract)
    describePrefixes(contract)
    describeListening(contract)
    describeClosing(contract)
    if (canOverlap) describeOverlapping(contract)
  })
}
