import type { Transaction } from '../file/database.ts'

const VALUE = `
select value
from instances join state on state.iid = instances.iid
where instances.id = ? and state.key = ?`

/** Values that workflows keep; what is not there is `undefined`. */
export function readState(
  tx: Transaction,
  wanted: readonly { readonly id: string; readonly key: string }[],
): readonly (string | undefined)[] {
  return wanted.map(({ id, key }) => {
    const row = tx.sql(VALUE).get(id, key) as { value: string } | undefined
    return row?.value
  })
}
