import type { ImportItem } from '../../store/admin.ts'
import type { Verdict } from '../../store/commits.ts'
import type { Transaction } from '../file/database.ts'
import { allLimits } from './limits.ts'
import { changeState } from './effects.ts'
import { appendTurn } from './history.ts'
import { insertInstance, insertRun, known } from './starts.ts'

/** The epoch of the turns: no runtime of this store wrote them. */
const EPOCH = 0

/** Makes an instance from a history, free and due at once. */
export function importInstance(tx: Transaction, item: ImportItem): Verdict {
  const { iid, id, turns, state } = item
  const instance = { ...item, parent: null }
  const execution = turns[0]?.execution ?? 1
  if (!insertInstance(tx, instance, execution)) return verdictOnTaken(tx, iid, id)
  for (const turn of turns) appendTurn(tx, iid, EPOCH, turn)
  for (const change of state) changeState(tx, iid, change)
  const limit = allLimits(tx).get(item.workflow)
  insertRun(tx, instance, { owner: null, epoch: 0, wakeAt: tx.now }, limit)
  return 'done'
}

function verdictOnTaken(tx: Transaction, iid: number, id: string): Verdict {
  const other = known(tx, 'id', id)
  if (other === undefined) return 'refused'
  return other.iid === iid && other.isStarted ? 'done' : 'exists'
}
