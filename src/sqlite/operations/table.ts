import type { Transaction } from '../database.ts'
import { claim } from './claim.ts'
import { commit, send, start } from './commit.ts'
import { find, load, look, owned, verify } from './reads.ts'
import { resume } from './resume.ts'
import { register, reserve, tick, unregister, workflowNumbers } from './runtimes.ts'

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
  tick: write(tick),
  verify: read(verify),
  resume: write(resume),
  owned: read(owned),
  find: read(find),
  look: read(look),
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
