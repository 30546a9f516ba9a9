import {
  alive,
  type Contract,
  LEASE_MS,
  PAST_LEASE_MS,
  result,
  sorted,
  turnItem,
  turnRow,
} from './scene.ts'

/** Leases, death, and the tick. */
export function describeLeases(contract: Contract): void {
  contract.describe('leases', () => {
    describeDeath(contract)
    describeTicks(contract)
  })
}

const endedBadly = { status: 'failed', output: '"stale"' } as const

function describeDeath({ test, expect, open }: Contract): void {
  test('a runtime whose lease ended continues as long as no other has noticed', async () => {
    await using scene = await open()
    const late = await scene.runtime()
    const [iid, next] = await late.own(2)
    await scene.under.advance(PAST_LEASE_MS)

    const verdicts = await late.turns(turnItem(iid!, { turn: turnRow(2) }))
    const claim = await late.claim({ hinted: [next!] })
    const tick = await late.tickAndCount()

    expect(verdicts).toEqual(['done'])
    expect(claim.state).toBe('ok')
    expect(tick).toMatchObject({ state: 'ok', owned: 2 })
  })

  test('a renewed lease lasts from the renewal on [test_worker_lock_renewal_extends_timeout]', async () => {
    await using scene = await open()
    const old = await scene.runtime()
    const watcher = await scene.otherRuntime()
    const iid = await old.ownOne()

    await scene.under.advance(LEASE_MS - 1_000)
    expect(await old.renew()).toMatchObject({ state: 'ok' })
    await scene.under.advance(LEASE_MS - 1_000)

    expect(await watcher.tick()).toMatchObject({ state: 'ok', claimable: false })
    expect(await old.turns(turnItem(iid, { turn: turnRow(2) }))).toEqual(['done'])
  })

  test('nothing of a runtime is claimed before its lease ends, and all of it after [test_lock_expires_after_timeout]', async () => {
    await using scene = await open()
    const silent = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iids = await silent.own(3)

    await taker.tick()
    const early = await taker.claimed()
    await scene.under.advance(PAST_LEASE_MS)
    const answer = await taker.tick()
    const late = await taker.claimed()

    expect(early).toEqual([])
    expect(answer).toMatchObject({ claimable: true })
    expect(sorted(late)).toEqual(iids)
  })

  test('a dead runtime stays dead [test_orchestration_lock_renewal_after_expiration]', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await dead.ownOne()
    await scene.takeOver(dead, taker)

    const answers = [await dead.tick(), await dead.tick(), await dead.renew()]

    expect(answers.map(({ state }) => state)).toEqual(['dead', 'dead', 'dead'])
    expect((await dead.claim()).state).toBe('dead')
    expect((await dead.commit({ turns: [turnItem(iid, { epoch: 2 })] })).state).toBe('dead')
    expect((await dead.commit({})).state).toBe('dead')
    await dead.store.unregister(dead.runtime)
    expect((await taker.store.owned(taker.runtime)).map((claim) => claim.iid)).toEqual([iid])
  })

  test('a commit after a takeover has no effect at all [test_lock_expiration_during_ack]', async () => {
    await using scene = await open()
    const stale = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iids = await stale.own(4)
    await scene.store.send(iids.map((iid) => result(iid, 1)))
    const mail = (await scene.inboxOf(iids[0]!)).map(({ id }) => id)
    await scene.takeOver(stale, taker)
    const before = await scene.state(iids, [stale, taker])
    const [fresh] = await stale.reserve(1)

    const [a, b, c, d] = iids as [number, number, number, number]
    const answer = await stale.commit({
      starts: [stale.startItem(fresh!)],
      turns: [
        turnItem(a, { turn: turnRow(2), taken: mail }),
        turnItem(b, { next: { kind: 'release', wakeAt: null } }),
        turnItem(c, { next: { kind: 'suspend', report: 'stale' } }),
        turnItem(d, { turn: turnRow(2), next: { kind: 'end', end: endedBadly } }),
      ],
    })

    expect(answer).toMatchObject({ state: 'dead' })
    expect(await scene.state(iids, [stale, taker])).toEqual(before)
    expect(await scene.store.look([fresh!])).toEqual([undefined])
  })

  test('the death of one runtime frees nothing of another', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const living = await scene.runtime()
    const taker = await scene.otherRuntime()
    await dead.own(2)
    const kept = await living.own(2)

    await scene.takeOver(dead, taker)

    expect((await living.store.owned(living.runtime)).map(({ iid }) => iid)).toEqual(kept)
    expect(await living.turns(turnItem(kept[0]!, { turn: turnRow(2) }))).toEqual(['done'])
  })

  test('several runtimes that notice a death at once free its instances once [test_concurrent_lock_attempts_respect_expiration]', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const takers = [await scene.runtime(), await scene.otherRuntime(), await scene.otherRuntime()]
    const iids = await dead.own(12)
    await scene.under.kill(dead.runtime)

    const claims = await Promise.all(
      takers.map(async (taker) => {
        await taker.tick()
        return (await taker.claim({ limit: 12 })).claims
      }),
    )

    const all = claims.flat()
    const rest = (await takers[0]!.claim()).claims
    expect(sorted([...all, ...rest].map(({ iid }) => iid))).toEqual(iids)
    expect([...all, ...rest].every(({ epoch, deaths }) => epoch === 2 && deaths === 1)).toBe(true)
  })

  test('each death without progress counts once, for each instance by itself [worker_attempt_count_increments_on_lock_expiry]', async () => {
    await using scene = await open()
    const first = await scene.runtime()
    const second = await scene.runtime()
    const third = await scene.otherRuntime()
    const [lame, lively] = await first.own(2)
    expect([await scene.under.attempts(lame!), await scene.under.attempts(lively!)]).toEqual([0, 0])

    await scene.takeOver(first, second)
    await second.turns(turnItem(lively!, { epoch: 2, turn: turnRow(2) }))
    const claims = await scene.takeOver(second, third)

    const attempts = new Map(claims.map((claim) => [claim.iid, claim.deaths]))
    expect([attempts.get(lame!), attempts.get(lively!)]).toEqual([2, 1])
    expect(await scene.under.attempts(lame!)).toBe(2)
  })

  test('a turn, and a release, reset the count of deaths [ignore_attempt_never_goes_negative]', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const [turning, resting, keeping] = await dead.own(3)
    await scene.takeOver(dead, taker)

    await taker.turns(
      turnItem(turning!, { epoch: 2, turn: turnRow(2) }),
      turnItem(resting!, { epoch: 2, next: { kind: 'release', wakeAt: null } }),
      turnItem(keeping!, { epoch: 2 }),
    )

    expect(await scene.under.attempts(turning!)).toBe(0)
    expect(await scene.under.attempts(resting!)).toBe(0)
    expect(await scene.under.attempts(keeping!)).toBe(1)
  })
}

function describeTicks({ test, expect, open }: Contract): void {
  test('a tick on an empty store has nothing to report', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()

    const { server } = runtime
    expect(await runtime.tickAndCount()).toMatchObject({
      state: 'ok',
      server,
      mail: [],
      owned: 0,
      claimable: false,
      nextDue: null,
    })
  })

  test('a tick names owned instances with mail, once each, and no others', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.otherRuntime()
    const [mailed, quiet] = await owner.own(2)
    const [elsewhere] = await other.own()

    await other.store.send([result(mailed!, 1), result(mailed!, 2), result(elsewhere!, 1)])

    expect(await owner.tickAndCount()).toMatchObject({ mail: [mailed], owned: 2, claimable: false })
    expect(await other.tickAndCount()).toMatchObject({ mail: [elsewhere], owned: 1 })
    expect(alive(await owner.tick()).mail.includes(quiet!)).toBe(false)
  })

  test('a tick renews no lease, and declares no lease of its own ended', async () => {
    await using scene = await open()
    const late = await scene.runtime()
    const watcher = await scene.otherRuntime()
    const iid = await late.ownOne()
    await scene.under.advance(PAST_LEASE_MS)

    await watcher.renew()
    const own = await late.tick()
    const others = await watcher.tick()

    expect(own.state).toBe('ok')
    expect(others).toMatchObject({ claimable: true })
    expect((await late.tick()).state).toBe('dead')
    expect(await watcher.claimed()).toEqual([iid])
  })

  test('a tick says whether something of these workflows can be claimed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime({ workflows: ['order', 'invoice'] })
    const [order, invoice] = runtime.workflows as [number, number]
    const [waiting] = await scene.sleeping(invoice, [null])
    const claimable = async (workflow: number): Promise<boolean> =>
      alive(await runtime.tick([workflow])).claimable

    const before = [await claimable(order), await claimable(invoice)]
    await scene.store.send([result(waiting!, 1)])
    const withMail = [await claimable(order), await claimable(invoice)]
    await scene.sleeping(order, [0])
    const withDue = [await claimable(order), await claimable(invoice)]

    expect([before, withMail, withDue]).toEqual([
      [false, false],
      [false, true],
      [true, true],
    ])
    expect(alive(await runtime.tick([])).claimable).toBe(false)
  })

  test('a tick says when the next one of these workflows falls due', async () => {
    await using scene = await open()
    const runtime = await scene.runtime({ workflows: ['order', 'invoice', 'other'] })
    const [order, invoice, other] = runtime.workflows as [number, number, number]
    const clock = await scene.clock()
    await scene.sleeping(order, [clock + 90_000, clock + 70_000, null])
    await scene.sleeping(invoice, [clock + 80_000])
    await scene.sleeping(other, [clock + 60_000])

    expect(alive(await runtime.tick([order, invoice])).nextDue).toBe(clock + 70_000)
    expect(alive(await runtime.tick([invoice])).nextDue).toBe(clock + 80_000)
    await scene.under.advance(75_000)
    const answer = alive(await runtime.tick([order, invoice]))
    expect([answer.claimable, answer.nextDue]).toEqual([true, clock + 80_000])
  })

  test('every answer carries the time of the store, which moves with its clock', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const { server } = runtime
    const before = await scene.clock()

    await scene.under.advance(3_600_000)

    const answers = [
      await runtime.tick(),
      await runtime.claim(),
      await runtime.commit({}),
      await scene.store.commit({ ...runtime.batch({}), server: `not ${server}` }),
      await runtime.store.commit({ ...runtime.batch({}), runtime: 4_711 }),
    ]
    for (const { clock } of answers) {
      expect(clock - before).toBeGreaterThanOrEqual(3_600_000)
      expect(clock - before).toBeLessThanOrEqual(3_700_000)
      expect(Number.isSafeInteger(clock)).toBe(true)
    }
  })
}
