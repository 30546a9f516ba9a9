import { Database, type Transaction } from '../../src/sqlite/file/database.ts'
import { register } from '../../src/sqlite/operations/runtimes.ts'
import { insertTask } from '../../src/sqlite/operations/tasks.ts'
import type { NewTask } from '../../src/store/tasks.ts'
import { newTask } from '../../src/testing/contract/task-items.ts'
import { settingsFor } from './sqlite.ts'

/** A database in memory with one instance, whose commands are tasks; by a clock that is set by hand. */
export class TaskDatabase implements Disposable {
  now = 1_000_000
  /** How often a statement was asked for. */
  looks = 0
  readonly #database = new Database(settingsFor(':memory:'))
  #lastCommand = 0

  constructor() {
    this.run((tx) => {
      tx.sql(`insert into workflows (workflow, name, version) values (1, 'order', '1')`).run()
      tx.sql(
        `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
        values (1, 'order-1', 1, 1, 'running', 0, 0)`,
      ).run()
    })
  }

  run<T>(work: (tx: Transaction) => T): T {
    return this.#database.write('test', 0, (tx) => {
      const sql: Transaction['sql'] = (text) => {
        this.looks++
        return tx.sql(text)
      }
      return work({ sql, now: this.now, server: tx.server })
    })
  }

  /** A new runtime. */
  register(): number {
    return this.run((tx) => register(tx, { leaseMs: 30_000, workflows: [], info: '' })).runtime
  }

  /** Adds the task of the next command. */
  ask(given: Partial<NewTask> = {}): NewTask {
    const task = newTask(++this.#lastCommand, given)
    this.run((tx) => insertTask(tx, this.key(task.command), task))
    return task
  }

  /** The key of the task of a command. */
  key(command: number) {
    return { iid: 1, execution: 1, command }
  }

  [Symbol.dispose](): void {
    this.#database.close()
  }
}
