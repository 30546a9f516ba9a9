import type { LoadRequest } from '../../store/claims.ts'
import type { Iid } from '../../store/instances.ts'
import { packLoad, packTurns } from '../packing/packed-history.ts'
import { QUEUE_OPERATIONS } from '../queue/operations.ts'
import { aboutTo } from './quarantine.ts'
import { claim } from './claim.ts'
import { commit, start } from './commit.ts'
import { history } from './history.ts'
import { importInstance } from './import.ts'
import { send } from './inbox.ts'
import { find, look } from './look.ts'
import { pendingWork } from './pending-work.ts'
import { fleeting, type Operation, read, write } from '../file/operation.ts'
import { post } from './post.ts'
import { load, owned, verify } from './reads.ts'
import { remove } from './remove.ts'
import { removeExpired } from './remove-expired.ts'
import { replies } from './replies.ts'
import { register, renewLease, reserve, unregister, workflowNumbers } from './runtimes.ts'
import { readState } from './state.ts'
import { resume, suspend } from './suspend.ts'
import { beat } from './task-beats.ts'
import { claimTasks } from './task-claim.ts'
import { ownedTasks } from './task-owners.ts'
import { finishTasks } from './task-results.ts'
import { terminate } from './terminate.ts'
import { tick } from './tick.ts'
import { whereabouts } from './whereabouts.ts'

/** What the thread can be asked to do. Each operation is one transaction. */
export const OPERATIONS = {
  register: write(register),
  unregister: write(unregister),
  now: read((tx) => tx.now),
  reserve: write(reserve),
  workflowNumbers: write(workflowNumbers),
  start: write(start),
  commit: write(commit),
  claim: fleeting(claim),
  load: read((tx, wanted: readonly LoadRequest[]) => packLoad(load(tx, wanted))),
  aboutTo: write(aboutTo),
  claimTasks: fleeting(claimTasks),
  finishTasks: write(finishTasks),
  beat: write(beat),
  ownedTasks: read(ownedTasks),
  send: write(send),
  post: write(post),
  renewLease: fleeting(renewLease),
  tick: fleeting(tick),
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
  whereabouts: read(whereabouts),
  history: read((tx, iid: Iid, execution: number) => packTurns(history(tx, iid, execution))),
  readState: read(readState),
  replies: read(replies),
  ...QUEUE_OPERATIONS,
}

/** The names of all operations. */
export type OperationName = keyof typeof OPERATIONS

/** What an operation is given. */
export type ArgsOf<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer Args, unknown> ? Args : never

/** What an operation answers. */
export type ResultOf<Name extends OperationName> = ReturnType<(typeof OPERATIONS)[Name]['run']>
