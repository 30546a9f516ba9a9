import { type Actor, type Contract, idOf, type Scene, sorted, turnItem, turnRow } from './scene.ts'
import { bury } from './task-items.ts'

/**
 * Instances that owners died with: handed out one at a time, with what the last owner was about to
 * do.
 */
export function describeQuarantinedClaims(contract: Contract): void {
  contract.describe('quarantined claims', () => {
    describeOneAtATime(contract)
    describeDoing(contract)
  })
}

function describeOneAtATime({ test, expect, open }: Contract): void {
  test('instances that two owners died with are claimed one at a time by each runtime, and block no others', async () => {
    await using scene = await open()
    const taker = await scene.otherRuntime()
    const other = await scene.runtime()
    const grave = await doomed(scene, taker, 4)
    const fresh = await scene.sleeping(taker.workflows[0]!, [0, 0])

    const first = (await taker.claim({ hinted: grave })).claims
    const second = await taker.claimed({ hinted: grave })
    const elsewhere = (await other.claim()).claims
    const [quarantined] = first.filter(({ deaths }) => deaths === 2)
    await taker.turns(turnItem(quarantined!.iid, { epoch: quarantined!.epoch, turn: turnRow(2) }))
    const third = (await taker.claim()).claims

    expect(sorted(first.map(({ deaths }) => deaths))).toEqual([0, 0, 2])
    expect(first.filter(({ iid }) => fresh.includes(iid)).length).toBe(2)
    expect(second).toEqual([])
    for (const claims of [elsewhere, third]) {
      expect(claims.map(({ deaths }) => deaths)).toEqual([2])
      expect(grave.includes(claims[0]!.iid)).toBe(true)
    }
  })

  test('one that is released or suspended makes room for the next', async () => {
    await using scene = await open()
    const taker = await scene.otherRuntime()
    const grave = await doomed(scene, taker, 3)
    const next = async () => (await taker.claim()).claims

    const [first] = await next()
    const later = (await scene.clock()) + 600_000
    await taker.turns(
      turnItem(first!.iid, { epoch: first!.epoch, next: { kind: 'release', wakeAt: later } }),
    )
    const second = await next()
    await taker.turns(
      turnItem(second[0]!.iid, {
        epoch: second[0]!.epoch,
        next: { kind: 'suspend', report: '"poison"' },
      }),
    )
    const third = await next()

    expect([second.length, third.length]).toEqual([1, 1])
    expect(sorted([first!, ...second, ...third].map(({ iid }) => iid))).toEqual(grave)
  })

  test('one death does not quarantine, and an item without a turn is not progress', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const second = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iids = await dead.own(2)
    const claims = await scene.takeOver(dead, second)
    await second.turns(...claims.map(({ iid, epoch }) => turnItem(iid, { epoch })))

    const quarantined = await scene.takeOver(second, taker)

    expect(sorted(claims.map(({ iid }) => iid))).toEqual(iids)
    expect(quarantined.map(({ deaths }) => deaths)).toEqual([2])
  })
}

function describeDoing({ test, expect, open }: Contract): void {
  test('the next owner gets what the last one was about to do, and its deaths', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const second = await scene.runtime()
    const third = await scene.otherRuntime()
    const [noted, quiet] = await dead.own(2)

    const first = await dead.store.aboutTo(dead.runtime, noted!, 1, 'turn 2')
    const again = await dead.store.aboutTo(dead.runtime, noted!, 1, `activity "pay" ü'`)
    const claims = await scene.takeOver(dead, second)
    await second.store.aboutTo(second.runtime, quiet!, 2, 'step')
    const owned = await second.store.owned(second.runtime)
    const last = await scene.takeOver(second, third)

    const doing = (list: typeof owned) =>
      list
        .toSorted((a, b) => a.iid - b.iid)
        .map(({ iid, deaths: attempts, doing: what }) => [iid, attempts, what])
    expect([first, again]).toEqual([true, true])
    expect(doing(claims)).toEqual([
      [noted, 1, `activity "pay" ü'`],
      [quiet, 1, ''],
    ])
    expect(doing(owned)).toEqual([
      [noted, 1, `activity "pay" ü'`],
      [quiet, 1, 'step'],
    ])
    expect(last.length).toBe(1)
    expect(last[0]).toMatchObject({
      deaths: 2,
      doing: last[0]!.iid === noted ? `activity "pay" ü'` : 'step',
    })
  })

  test('a turn or a release removes the note; an item without a turn does not', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.runtime()
    const last = await scene.otherRuntime()
    const iids = await dead.own(3)
    const [turning, resting, keeping] = iids
    await scene.takeOver(dead, taker)
    for (const iid of iids) await taker.store.aboutTo(taker.runtime, iid, 2, 'pay')

    await taker.turns(
      turnItem(turning!, { epoch: 2, turn: turnRow(2) }),
      turnItem(resting!, { epoch: 2, next: { kind: 'release', wakeAt: 0 } }),
      turnItem(keeping!, { epoch: 2 }),
    )
    const owned = await taker.store.owned(taker.runtime)
    const claims = [...(await taker.claim()).claims]
    claims.push(...(await scene.takeOver(taker, last)))

    expect(owned.map(({ iid, deaths: attempts, doing }) => [iid, attempts, doing])).toEqual([
      [turning, 0, ''],
      [keeping, 1, 'pay'],
    ])
    expect(claims[0]).toMatchObject({ iid: resting, deaths: 0, doing: '' })
    expect(claims.find(({ iid, epoch }) => iid === turning && epoch === 3)?.doing).toBe('')
    expect(claims.find(({ iid }) => iid === keeping)?.doing).toBe('pay')
  })

  test('only the owner leaves a note, and learns whether it is the owner', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.otherRuntime()
    const [owned, freed, aside, ended] = await owner.own(4)
    const end = { status: 'completed', output: '' } as const
    await owner.turns(
      turnItem(freed!, { next: { kind: 'release', wakeAt: 0 } }),
      turnItem(ended!, { turn: turnRow(2), next: { kind: 'end', end } }),
    )
    await scene.store.suspend([idOf(aside!)], '"why"')
    const tries: readonly [Actor, number, number][] = [
      [other, owned!, 1],
      [owner, owned!, 0],
      [owner, owned!, 2],
      [owner, freed!, 1],
      [owner, aside!, 1],
      [owner, aside!, 2],
      [owner, ended!, 1],
      [owner, 123_456_789, 1],
    ]
    const before = await scene.state([owned!, freed!, aside!, ended!], [owner, other])

    for (const [runtime, iid, epoch] of tries) {
      const noted = await runtime.store.aboutTo(runtime.runtime, iid, epoch, 'stale')
      expect({ iid, epoch, noted }).toEqual({ iid, epoch, noted: false })
    }

    expect(await scene.state([owned!, freed!, aside!, ended!], [owner, other])).toEqual(before)
    expect((await other.claim()).claims).toMatchObject([{ iid: freed, doing: '' }])
  })

  test('a dead owner cannot leave a note', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await dead.ownOne()
    await bury(scene, dead, taker)

    const between = await dead.store.aboutTo(dead.runtime, iid, 1, 'stale')
    const { claims } = await taker.claim()
    const after = await dead.store.aboutTo(dead.runtime, iid, 1, 'stale')
    const wrong = await dead.store.aboutTo(dead.runtime, iid, 2, 'stale')

    expect([between, after, wrong]).toEqual([false, false, false])
    expect(claims).toMatchObject([{ iid, doing: '' }])
    expect(await taker.store.owned(taker.runtime)).toMatchObject([{ iid, doing: '' }])
  })
}

/** Instances that two owners have died with. */
async function doomed(scene: Scene, witness: Actor, count: number): Promise<number[]> {
  const first = await scene.runtime()
  const second = await scene.runtime()
  const iids = await first.own(count)
  await bury(scene, first, witness)
  await second.claim()
  await bury(scene, second, witness)
  return iids
}
