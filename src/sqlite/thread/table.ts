import type { HistoryPage } from '../../store/commits.ts'
import type { LoadRequest } from '../../store/claims.ts'
import type { Iid } from '../../store/instances.ts'
import { packLoad, packTurns } from '../packing/packed-history.ts'
import { OUTBOX_OPERATIONS } from '../outbox/operations.ts'
import { QUEUE_OPERATIONS } from '../queue/operations.ts'
import { setLimitKeys } from '../operations/admissions.ts'
import { aboutTo } from '../operations/quarantine.ts'
import { claim } from '../operations/claim.ts'
import { commit, start } from '../operations/commit.ts'
import { history } from '../operations/history.ts'
import { importInstance } from '../operations/import.ts'
import { send } from '../operations/inbox.ts'
import { depths, executions, findTasks, fleet, usage } from '../operations/figures.ts'
import { find, look } from '../operations/look.ts'
import { pendingWork } from '../operations/pending-work.ts'
import { nonDurableWrite, type Operation, read, write } from '../file/operation.ts'
import { post } from '../operations/post.ts'
import { load, owned, verify } from '../operations/reads.ts'
import { remove } from '../operations/remove.ts'
import { removeExpired } from '../operations/remove-expired.ts'
import { replies } from '../operations/replies.ts'
import {
  register,
  renewLease,
  reserve,
  unregister,
  workflowNumbers,
} from '../operations/runtimes.ts'
import { fireSchedules, triggerSchedule } from '../operations/fire-schedules.ts'
import {
  dueSchedules,
  failSchedule,
  moveSchedule,
  putSchedule,
  readSchedules,
  removeSchedule,
} from '../operations/schedules.ts'
import { search } from '../operations/search.ts'
import { readState } from '../operations/state.ts'
import { resume, suspend } from '../operations/suspend.ts'
import { beat } from '../operations/task-beats.ts'
import { claimTasks } from '../operations/task-claim.ts'
import { ownedTasks } from '../operations/task-owners.ts'
import { finishTasks } from '../operations/task-results.ts'
import { terminate } from '../operations/terminate.ts'
import { tick } from '../operations/tick.ts'
import { prune, removeTrees, tree } from '../operations/trees.ts'
import { whereabouts } from '../operations/whereabouts.ts'

/** What the thread can be asked to do. Each operation is one transaction. */
export const OPERATIONS = {
  register: write(register),
  unregister: write(unregister),
  now: read((tx) => tx.now),
  reserve: write(reserve),
  workflowNumbers: write(workflowNumbers),
  start: write(start),
  commit: write(commit),
  claim: nonDurableWrite(claim),
  load: read((tx, wanted: readonly LoadRequest[]) => packLoad(load(tx, wanted))),
  aboutTo: write(aboutTo),
  claimTasks: nonDurableWrite(claimTasks),
  finishTasks: write(finishTasks),
  beat: write(beat),
  ownedTasks: read(ownedTasks),
  send: write(send),
  post: write(post),
  renewLease: nonDurableWrite(renewLease),
  tick: nonDurableWrite(tick),
  pendingWork: read(pendingWork),
  verify: read(verify),
  suspend: write(suspend),
  resume: write(resume),
  terminate: write(terminate),
  remove: write(remove),
  removeExpired: write(removeExpired),
  import: write(importInstance),
  owned: read(owned),
  find: read(find),
  look: read(look),
  setLimitKeys: write(setLimitKeys),
  whereabouts: read(whereabouts),
  history: read((tx, iid: Iid, execution: number, page?: HistoryPage) =>
    packTurns(history(tx, iid, execution, page)),
  ),
  readState: read(readState),
  replies: read(replies),
  putSchedule: write(putSchedule),
  readSchedules: read(readSchedules),
  removeSchedule: write(removeSchedule),
  moveSchedule: write(moveSchedule),
  dueSchedules: read(dueSchedules),
  fireSchedules: write(fireSchedules),
  failSchedule: write(failSchedule),
  triggerSchedule: write(triggerSchedule),
  search: read(search),
  tree: read(tree),
  executions: read(executions),
  usage: read(usage),
  removeTrees: write(removeTrees),
  prune: write(prune),
  depths: read(depths),
  fleet: read(fleet),
  findTasks: read(findTasks),
  ...QUEUE_OPERATIONS,
  ...OUTBOX_OPERATIONS,
}

/** The names of all operations. */
export type OperationName = keyof typeof OPERATIONS

/** What an operation is given. */
export type ArgsOf<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer Args, unknown> ? Args : never

/** What an operation answers. */
export type ResultOf<Name extends OperationName> = ReturnType<(typeof OPERATIONS)[Name]['run']>
