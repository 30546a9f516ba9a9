import { effects } from './items.ts'
import { type Contract, result, turnItem, turnRow } from './scene.ts'
import {
  asking,
  beat,
  beatOf,
  completed,
  drop,
  failed,
  finish,
  heldOne,
  newTask,
} from './task-items.ts'

/**
 * What still arrives for something that a failover lost. By then its numbers may have been given to
 * something else.
 */
export function describeLostWrites(contract: Contract): void {
  contract.describe('writes that were lost', () => {
    describeTasks(contract)
    describeTurns(contract)
  })
}

function describeTasks({ test, expect, open }: Contract): void {
  test('a result for a task that is gone does not reach another one under the same key', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const holder = await scene.otherRuntime()
    const iid = await asking(owner, [newTask(1, { token: 11 })])
    const lost = await heldOne(holder)
    await drop(owner, iid, 1)
    const tasks = [newTask(1, { token: 12 })]
    await owner.turns(turnItem(iid, { turn: turnRow(3), effects: effects({ tasks }) }))
    const unclaimed = await finish(holder, completed(lost, '"lost"'))
    const found = await heldOne(holder)

    const verdicts = await finish(holder, completed(lost, '"lost"'), failed(lost, '"lost"'))
    const wanted = await beat(
      holder,
      beatOf(lost, { details: '"lost"' }),
      beatOf(found, { details: '"found"' }),
    )

    expect([lost, found]).toMatchObject([
      { token: 11, attempt: 1 },
      { token: 12, attempt: 1 },
    ])
    expect([...unclaimed, ...verdicts]).toEqual(['gone', 'gone', 'gone'])
    expect(wanted).toEqual([false, true])
    expect(await scene.inboxOf(iid)).toEqual([])
    expect(await finish(holder, completed(found, '"found"'))).toEqual(['done'])
    expect(await scene.waitingFor(iid)).toEqual(['completed: "found"'])
  })

  test('a task that its owner made of a call is known by the token of the call', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    const local = { epoch: 1, task: newTask(1, { token: 21 }) }
    const key = { iid, execution: 1, command: 1, attempt: 1 }

    const made = await beat(owner, beatOf({ ...key, token: 21 }, { local }))
    const again = await beat(owner, beatOf({ ...key, token: 21 }, { local }))
    const another = await beat(owner, beatOf({ ...key, token: 22 }, { details: '"lost"' }))

    expect([made, again, another]).toEqual([[true], [true], [false]])
    expect(await finish(owner, completed({ ...key, token: 22 }, '"lost"'))).toEqual(['gone'])
    expect(await finish(owner, completed({ ...key, token: 21 }, '"found"'))).toEqual(['done'])
    expect(await scene.waitingFor(iid)).toEqual(['completed: "found"'])
  })
}

function describeTurns({ test, expect, open }: Contract): void {
  test('a result is dropped when its sender has seen a turn that history does not have', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    await owner.turns(turnItem(iid, { turn: turnRow(2) }))
    const { at } = turnRow(2)

    await scene.store.send([
      { ...result(iid, 1, '"later"'), known: { turn: 3, at } },
      { ...result(iid, 1, '"another"'), known: { turn: 2, at: at + 1 } },
      { ...result(iid, 1, '"elsewhere"'), execution: 2, known: { turn: 2, at } },
      { ...result(iid, 1, '"same"'), known: { turn: 2, at } },
    ])

    expect(await scene.waitingFor(iid)).toEqual(['completed: "same"'])
  })

  test('a transaction is refused when its owner has seen a turn that history does not have', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    const runs: number[] = []
    const transact = (turn: number): Promise<'done' | 'refused'> =>
      scene.store.transact({
        iid,
        execution: 1,
        command: 1,
        runtime: owner.runtime,
        by: { epoch: 1, turn },
        code: () => {
          runs.push(turn)
          return '"done"'
        },
      })

    expect(await transact(2)).toBe('refused')
    expect(await transact(1)).toBe('done')
    expect(runs).toEqual([1])
  })
}
