// A child process that runs one workflow with one transaction, on the given store: `crash-child.ts
// <postgres|sqlite> <url or path> <schema> <never|before|after>`. The last says when it is killed:
// before the commit of the transaction, or after it and before any answer.

import { open, workflow } from '../../src/index.ts'
import { postgres, transaction as postgresTransaction } from '../../src/postgres/index.ts'
import { sqlite, transaction as sqliteTransaction } from '../../src/sqlite/index.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'

const [kind, place, schema, dies] = process.argv.slice(2) as [string, string, string, string]

const die = (): void => void process.kill(process.pid, 'SIGKILL')

const onSqlite = sqliteTransaction('add', (entry: string, { tx }) => {
  tx.run('insert into entries values (?)', entry)
  if (dies === 'before') die()
  return entry
})

const onPostgres = postgresTransaction('add', async (entry: string, { tx }) => {
  await tx.query(`insert into "${schema}".entries values ($1)`, [entry])
  if (dies === 'before') die()
  return entry
})

const book = workflow('book', async (entry: string, ctx) =>
  ctx.run(kind === 'sqlite' ? onSqlite : onPostgres, entry),
)

const store = (
  kind === 'sqlite' ? sqlite({ path: place }) : postgres({ url: place, schema })
) as StoreHandle
const openInner = store[OPEN_WORKFLOW_STORE].bind(store)
store[OPEN_WORKFLOW_STORE] = () => {
  const inner = openInner()
  const transact = inner.transact.bind(inner)
  inner.transact = async (work) => {
    const verdict = await transact(work)
    if (dies === 'after') die()
    return verdict
  }
  return inner
}

const runtime = await open(store, { register: book, lease: '1s' })
process.stdout.write(`${await runtime.run(book, 'a', { id: 'book' })}\n`)
await runtime.close()
