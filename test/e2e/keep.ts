import { cpSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readEvents } from '../../src/store/history.ts'
import { readInstances } from './recorded-instance.ts'
import type { Scene } from './scene.ts'

/**
 * Keeps the evidence of a round: the ledger, every instance with its history, and the output of the
 * processes. The operating system affects each round, so playing it again may not be enough.
 */
export async function keepScene(scene: Scene, seed: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-round-${seed}-`))
  cpSync(scene.ledger, join(folder, 'ledger.jsonl'))
  const lives = await readInstances(scene)
  const instances = lives.map(({ row, turns }) => ({
    ...row,
    turns: turns.map((turn) => ({ ...turn, events: readEvents(turn.events) })),
  }))
  writeFileSync(join(folder, 'instances.json'), JSON.stringify(instances, undefined, 1))
  for (const table of ['runs', 'inbox', 'runtimes']) {
    const rows = await scene.query(`select * from ${table}`)
    writeFileSync(join(folder, `${table}.json`), JSON.stringify(rows, undefined, 1))
  }
  for (const { pid, log } of scene.workers.all) {
    if (log !== '') writeFileSync(join(folder, `process-${pid}.log`), log)
  }
  return folder
}
