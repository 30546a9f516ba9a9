import type { Next } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import { appendTurn } from './history.ts'
import { noteEnded } from './remove-expired.ts'
import { removeOldTasks } from './tasks.ts'

const KEEP = `update runs set workflow = ?, attempts = 0, doing = '' where iid = ?`

// Due at once for any runtime that has the workflow of the next execution, which may be another
// one.
const FREE = `
update runs set workflow = ?, attempts = 0, doing = '', owner = null, wake_at = ?
where iid = ?`

const DROP_RESULTS = 'delete from inbox where iid = ? and command > 0 and execution < ?'

/** Begins the next execution of an instance. Messages stay; results and tasks of the last one do not. */
export function continueInstance(
  tx: Transaction,
  iid: Iid,
  epoch: number,
  { started, workflow, keep }: Extract<Next, { kind: 'continue' }>,
): void {
  appendTurn(tx, iid, epoch, started)
  tx.sql('update instances set execution = ?, workflow = ? where iid = ?').run(
    started.execution,
    workflow,
    iid,
  )
  if (keep) tx.sql(KEEP).run(workflow, iid)
  else tx.sql(FREE).run(workflow, tx.now, iid)
  tx.sql(DROP_RESULTS).run(iid, started.execution)
  removeOldTasks(tx, iid, started.execution)
  noteEnded(tx, iid, started.execution - 1)
}
