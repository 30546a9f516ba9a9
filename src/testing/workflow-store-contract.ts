import { describeUnstartedInstances } from './contract/unstarted-instances.ts'
import { describePruning } from './contract/pruning.ts'
import { describeQuarantinedClaims } from './contract/quarantined-claims.ts'
import { describeChannels } from './contract/channels.ts'
import { describeClaims } from './contract/claims.ts'
import { describeCloses } from './contract/closes.ts'
import { describeCommits } from './contract/commits.ts'
import { describeContinues } from './contract/continues.ts'
import { describeEarlyMessages } from './contract/early-messages.ts'
import { describeFigures } from './contract/figures.ts'
import { describeHistories } from './contract/histories.ts'
import { describeImports } from './contract/imports.ts'
import { describeJudgement } from './contract/judgement.ts'
import { describeLateStarts } from './contract/late-starts.ts'
import { describeLeases } from './contract/leases.ts'
import { describeLocalBeats } from './contract/local-beats.ts'
import { describeLostWrites } from './contract/lost-writes.ts'
import { describeMailOfUnowned } from './contract/mail-of-unowned.ts'
import { describeMail } from './contract/mail.ts'
import { describeSupersededOwners } from './contract/superseded-owners.ts'
import { describeOwnership } from './contract/ownership.ts'
import { describeParents } from './contract/parents.ts'
import { describeParking } from './contract/parking.ts'
import { describePosts } from './contract/posts.ts'
import { describeProgress } from './contract/progress.ts'
import { describeReads } from './contract/reads.ts'
import { describeRemoving } from './contract/removing.ts'
import { describeReplies } from './contract/replies.ts'
import { describeResends } from './contract/resends.ts'
import { describeRetention } from './contract/retention.ts'
import { describeRuntimes } from './contract/runtimes.ts'
import { type Contract, Scene } from './contract/scene.ts'
import { describeFiring } from './contract/firing.ts'
import { describeScheduledStarts } from './contract/scheduled-starts.ts'
import { describeSchedules } from './contract/schedules.ts'
import { describeSearches } from './contract/searches.ts'
import { describeSenders } from './contract/senders.ts'
import { describeSessionLives } from './contract/session-lives.ts'
import { describeSessions } from './contract/sessions.ts'
import { describeStarts } from './contract/starts.ts'
import { describeStateScope } from './contract/state-scope.ts'
import { describeState } from './contract/state.ts'
import type { StoreUnderTest, TestRunner } from './contract/store-under-test.ts'
import { describeSuspending } from './contract/suspending.ts'
import { describeTaskBeats } from './contract/task-beats.ts'
import { describeTaskClaims } from './contract/task-claims.ts'
import { describeTaskDeaths } from './contract/task-deaths.ts'
import { describeTaskDrops } from './contract/task-drops.ts'
import { describeTaskEnds } from './contract/task-ends.ts'
import { describeTaskLimits } from './contract/task-limits.ts'
import { describeTaskResults } from './contract/task-results.ts'
import { describeTaskTags } from './contract/task-tags.ts'
import { describeTaskTicks } from './contract/task-ticks.ts'
import { describeTasks } from './contract/tasks.ts'
import { describeTerminating } from './contract/terminating.ts'
import { describeTexts } from './contract/texts.ts'
import { describeTrees } from './contract/trees.ts'
import { describeUnheardResults as describeUndeliveredResults } from './contract/undelivered-results.ts'
import { describeUnversioned } from './contract/unversioned.ts'
import { describeVersions } from './contract/versions.ts'
import { describeWhereabouts } from './contract/whereabouts.ts'
import { describeWorkflowLimits } from './contract/workflow-limits.ts'

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
    describeVersions(contract)
    describeUnversioned(contract)
    describeWhereabouts(contract)
    describeWorkflowLimits(contract)
    describeQuarantinedClaims(contract)
    describeOwnership(contract)
    describeMail(contract)
    describeMailOfUnowned(contract)
    describePosts(contract)
    describeChannels(contract)
    describeEarlyMessages(contract)
    describeLateStarts(contract)
    describeUnstartedInstances(contract)
    describeSenders(contract)
    describeParking(contract)
    describeParents(contract)
    describeUndeliveredResults(contract)
    describeCloses(contract)
    describeState(contract)
    describeStateScope(contract)
    describeProgress(contract)
    describeReplies(contract)
    describeContinues(contract)
    describeHistories(contract)
    describeScheduledStarts(contract)
    describeSchedules(contract)
    describeFiring(contract)
    describeSuspending(contract)
    describeTerminating(contract)
    describeSupersededOwners(contract)
    describeRemoving(contract)
    describeRetention(contract)
    describeImports(contract)
    describeSearches(contract)
    describeTrees(contract)
    describePruning(contract)
    describeFigures(contract)
    describeReads(contract)
    describeTexts(contract)
    describeTasks(contract)
    describeTaskDrops(contract)
    describeTaskEnds(contract)
    describeTaskClaims(contract)
    describeTaskTags(contract)
    describeTaskResults(contract)
    describeLostWrites(contract)
    describeTaskBeats(contract)
    describeLocalBeats(contract)
    describeTaskLimits(contract)
    describeTaskDeaths(contract)
    describeTaskTicks(contract)
    describeSessions(contract)
    describeSessionLives(contract)
  })
}
