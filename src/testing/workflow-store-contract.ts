import { describeClaims } from './contract/claims.ts'
import { describeCommits } from './contract/commits.ts'
import { describeJudgement } from './contract/judgement.ts'
import { describeLeases } from './contract/leases.ts'
import { describeMail } from './contract/mail.ts'
import { describeOwnership } from './contract/ownership.ts'
import { describeReads } from './contract/reads.ts'
import { describeResends } from './contract/resends.ts'
import { describeRuntimes } from './contract/runtimes.ts'
import { type Contract, Scene } from './contract/scene.ts'
import { describeStarts } from './contract/starts.ts'
import type { StoreUnderTest, TestRunner } from './contract/store-under-test.ts'
import { describeTexts } from './contract/texts.ts'

/**
 * What every workflow store must do. Call it once per store; `open` makes a fresh one for each test.
 *
 * The functions of the test runner are handed in, so that this package needs none itself.
 *
 * @example
 * import { describe, expect, test } from 'vitest'
 *
 * describeWorkflowStore('SQLite', openSqlite, { describe, expect, test })
 */
export function describeWorkflowStore(
  name: string,
  open: () => Promise<StoreUnderTest>,
  runner: TestRunner,
): void {
  const { describe, expect, test } = runner
  const contract: Contract = {
    describe,
    expect,
    test,
    open: async () => new Scene(await open()),
  }
  describe(`${name}: workflow store`, () => {
    describeRuntimes(contract)
    describeLeases(contract)
    describeStarts(contract)
    describeCommits(contract)
    describeJudgement(contract)
    describeResends(contract)
    describeClaims(contract)
    describeOwnership(contract)
    describeMail(contract)
    describeReads(contract)
    describeTexts(contract)
  })
}
