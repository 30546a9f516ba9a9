import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'holdfast'
import { openDatabase } from 'holdfast/sqlite'
import { QUIET, seedInstances, seedOutbox, seedQueue } from './seed.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Projects of users, each in a folder of its own. */
export class Projects {
  readonly #home = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  #count = 0

  /** Fills an SQLite store, a queue and an export, which every project gets a copy of. */
  async seed(): Promise<void> {
    const folder = join(this.#home, 'seed')
    mkdirSync(folder)
    const path = join(folder, 'shop.db')
    await seedInstances(`file:${path}`)
    await using client = connect(`file:${path}`, { log: QUIET })
    const database = openDatabase({ path })
    await seedOutbox(client, async (work) => {
      database.exec('begin immediate')
      await work(database as never)
      database.exec('commit')
    })
    database.close()
    await seedQueue(join(folder, 'queue.db'))
    const exported = await client.get('order-9').export()
    writeFileSync(join(folder, 'order-9.json'), JSON.stringify(exported))
  }

  /** A folder with the module, the package and what was seeded. */
  create(manifest: object = {}): string {
    const folder = join(this.#home, `project-${++this.#count}`)
    cpSync(join(this.#home, 'seed'), folder, { recursive: true })
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(ROOT, join(folder, 'node_modules/holdfast'))
    symlinkSync(join(ROOT, 'node_modules/tsx'), join(folder, 'node_modules/tsx'))
    cpSync(join(import.meta.dirname, 'programs/shop.ts'), join(folder, 'shop.ts'))
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ type: 'module', holdfast: { store: 'file:shop.db' }, ...manifest }),
    )
    return folder
  }

  remove(): void {
    rmSync(this.#home, { recursive: true, force: true })
  }
}
