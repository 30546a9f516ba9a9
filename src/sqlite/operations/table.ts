import type { Transaction } from '../database.ts'
import { claim } from './claim.ts'
import { commit, start } from './commit.ts'
import { history } from './history.ts'
import { importInstance } from './import.ts'
import { send } from './inbox.ts'
import { find, look } from './look.ts'
import { post } from './post.ts'
import { load, owned, verify } from './reads.ts'
import { remove } from './remove.ts'
import { replies } from './replies.ts'
import { register, reserve, tick, unregister, workflowNumbers } from './runtimes.ts'
import { readState } from './state.ts'
import { resume, suspend } from './suspend.ts'
import { terminate } from './terminate.ts'

/** What the thread can be asked to do. Each operation is one transaction. */
export const OPERATIONS = {
  register: write(register),
  unregister: write(unregister),
  reserve: write(reserve),
  workflowNumbers: write(workflowNumbers),
  start: write(start),
  commit: write(commit),
  claim: write(claim),
  load: read(load),
  send: write(send),
  post: write(post),
  tick: write(tick),
  verify: read(verify),
  suspend: write(suspend),
  resume: write(resume),
  terminate: write(terminate),
  remove: write(remove),
  import: write(importInstance),
  owned: read(owned),
  find: read(find),
  look: read(look),
  history: read(history),
  readState: read(readState),
  replies: read(replies),
}

/** One entry of the table: what it needs, and what it does. */
export interface Operation<Args extends unknown[], Result> {
  readonly mode: 'read' | 'write'
  run(tx: Transaction, ...args: Args): Result
}

/** The names of all operations. */
export type OperationName = keyof typeof OPERATIONS

/** What an operation is given. */
export type ArgsOf<Name extends OperationName> =
  (typeof OPERATIONS)[Name] extends Operation<infer Args, unknown> ? Args : never

/** What an operation answers. */
export type ResultOf<Name extends OperationName> = ReturnType<(typeof OPERATIONS)[Name]['run']>

function read<Args extends unknown[], Result>(
  run: (tx: Transaction, ...args: Args) => Result,
): Operation<Args, Result> {
  return { mode: 'read', run }
}

function write<Args extends unknown[], Result>(
  run: (tx: Transaction, ...args: Args) => Result,
): Operation<Args, Result> {
  return { mode: 'write', run }
}
