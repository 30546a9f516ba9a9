import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { checkScene } from './check.ts'
import { note, readLedger } from './ledger.ts'
import { untilEmpty } from './outcomes.ts'
import { openScene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'

describe.concurrent.each(STORES)('on %s', (_, kind) => {
  test('every acknowledged start ends, though its process was killed during the starts', async () => {
    await using scene = openScene(kind())
    const starts = Array.from({ length: 1_000 }, (_unused, i) => {
      return { workflow: 'steps', id: `steps-${i}`, input: { seed: i, n: 1 } } as const
    })
    const killed = scene.workers.start({ starts })

    await killed.acknowledged(100)
    await killed.kill()
    scene.workers.start()
    await using client = connect(storeOf(scene.store), { log: silentLog })
    const results = killed.started.map(async (id) => {
      const result = await client.get(id).result({ timeout: '20s' })
      note(scene.ledger, { what: 'ended', id })
      return result
    })

    expect(await Promise.all(results)).toEqual(
      killed.started.map((id) => [Number(id.slice('steps-'.length)) % 9973]),
    )
    // Also what no caller was answered about.
    await untilEmpty(scene)
    expect(await checkScene(scene, readLedger(scene.ledger))).toEqual([])
  }, 60_000)
})
