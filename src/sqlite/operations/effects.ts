import type { Effects, StateChange } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { closeChildren } from './children.ts'
import { changeTasks } from './tasks.ts'

const SET = `
insert into state (iid, key, value) values (?, ?, ?)
on conflict do update set value = excluded.value`

const REPLY = `
insert into replies (reply_to, payload, at) values (?, ?, ?)
on conflict do nothing`

const SET_PROGRESS = `
update instances
set progress = ?, progress_version = coalesce(progress_version, 0) + 1, updated_at = ?
where iid = ?`

/** Applies what a turn of this execution does beyond its own history. */
export function applyEffects(tx: Transaction, iid: Iid, execution: number, effects: Effects): void {
  const { parked, closes, clearsState, state, progress, replies } = effects
  for (const id of parked) {
    tx.sql('update inbox set parked = 1 where id = ? and iid = ?').run(id, iid)
  }
  closeChildren(tx, iid, execution, closes)
  if (clearsState) tx.sql('delete from state where iid = ?').run(iid)
  for (const change of state) changeState(tx, iid, change)
  if (progress !== null) {
    tx.sql(SET_PROGRESS).run(progress, tx.now, iid)
  }
  for (const { to, payload } of replies) tx.sql(REPLY).run(to, payload, tx.now)
  changeTasks(tx, iid, execution, effects)
}

/** Sets a value of an instance, or removes it. */
export function changeState(tx: Transaction, iid: Iid, { key, value }: StateChange): void {
  if (value === null) tx.sql('delete from state where iid = ? and key = ?').run(iid, key)
  else tx.sql(SET).run(iid, key, value)
}
