import { continuing, effects, END, message } from './items.ts'
import { type Contract, idOf, turnItem, turnRow } from './scene.ts'

/** What clients see of an instance: its progress and its labels. */
export function describeProgress(contract: Contract): void {
  contract.describe('progress and labels', () => {
    describeProgressOf(contract)
    describeLabels(contract)
  })
}

function describeProgressOf({ test, expect, open }: Contract): void {
  test('progress is none until it is set [test_custom_status_default_on_new_instance]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [plain, begun] = await runtime.reserve(2)

    await runtime.starts(
      runtime.startItem(plain!),
      runtime.startItem(begun!, { effects: effects({ progress: '"begun"' }) }),
    )

    const rows = await scene.store.look([plain!, begun!])
    expect(rows.map((row) => row?.progress)).toEqual([null, '"begun"'])
  })

  test('progress is what was set last, and when [test_custom_status_set]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: effects({ progress: '"half"' }) }))
    const half = await scene.look(iid)
    await scene.under.advance(60_000)
    const clock = await scene.clock()

    await runtime.turns(turnItem(iid, { effects: effects({ progress: '' }) }))

    const whole = await scene.look(iid)
    expect([half.progress, whole.progress]).toEqual(['"half"', ''])
    expect(whole.updatedAt).toBeGreaterThanOrEqual(clock)
    expect(half.updatedAt).toBeLessThanOrEqual(clock - 1)
  })

  test('progress can be cleared, by the text of no value, and stays so [test_custom_status_clear]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: effects({ progress: '"half"' }) }))

    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ progress: '"!u"' }) }))
    await runtime.turns(turnItem(iid, { turn: turnRow(3), next: END }))

    expect((await scene.look(iid)).progress).toBe('"!u"')
  })

  test('a turn that says nothing of progress leaves it [test_custom_status_none_preserves]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { effects: effects({ progress: '1' }) }))

    const state = [{ key: 'a', value: '1' }]
    await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ state }) }))
    await runtime.turns(turnItem(iid, { turn: turnRow(3) }))

    expect((await scene.look(iid)).progress).toBe('1')
  })

  test('each turn that sets or clears progress raises its version by one, and no other does [test_custom_status_version_increments]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const versions = [(await scene.look(iid)).progressVersion]
    const next = continuing(runtime.workflows[0]!, { keep: false })
    const items = [
      turnItem(iid, { turn: turnRow(2), effects: effects({ progress: '1' }) }),
      turnItem(iid, { turn: turnRow(3), effects: effects({ progress: '1' }) }),
      turnItem(iid, { turn: turnRow(4) }),
      turnItem(iid, { turn: turnRow(5), effects: effects({ progress: '"!u"' }) }),
      turnItem(iid, { turn: turnRow(6), effects: effects({ progress: '2' }), next }),
    ]

    for (const item of items) {
      await runtime.turns(item)
      versions.push((await scene.look(iid)).progressVersion)
    }

    expect(versions).toEqual([0, 1, 2, 2, 3, 4])
  })

  test('a reader that knows the version sees whether anything was set [test_custom_status_polling_no_change]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const first = turnItem(iid, { turn: turnRow(2), effects: effects({ progress: '1' }) })
    await runtime.turns(first)
    const seen = await scene.look(iid)

    await runtime.turns(first)
    await runtime.turns(turnItem(iid, { epoch: 0, effects: effects({ progress: '9' }) }))
    await runtime.turns(turnItem(iid, { turn: turnRow(3) }))
    const unchanged = await scene.look(iid)
    await runtime.turns(turnItem(iid, { turn: turnRow(4), effects: effects({ progress: '1' }) }))

    expect([seen.progressVersion, unchanged.progressVersion]).toEqual([1, 1])
    expect(await scene.look(iid)).toMatchObject({ progress: '1', progressVersion: 2 })
  })

  test('an instance that never existed has no progress [test_custom_status_nonexistent_instance]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [iid] = await runtime.reserve(1)

    const verdicts = await runtime.turns(turnItem(iid!, { effects: effects({ progress: '1' }) }))

    expect(verdicts).toEqual(['refused'])
    expect([await scene.store.look([iid!]), await scene.store.find([idOf(iid!)])]).toEqual([
      [undefined],
      [undefined],
    ])
  })

  test('progress outlives executions, suspension and the end', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!, { keep: false })

    await runtime.turns(
      turnItem(iid, { turn: turnRow(2), effects: effects({ progress: '1' }), next }),
    )
    const continued = await scene.look(iid)
    await scene.store.suspend([idOf(iid)], '"why"')
    const suspended = await scene.look(iid)
    await scene.store.resume([idOf(iid)])
    const { claims } = await runtime.claim()
    const turn = turnRow(2, { execution: 2 })
    await runtime.turns(turnItem(iid, { epoch: claims[0]!.epoch, turn, next: END }))

    expect([continued.progress, suspended.progress]).toEqual(['1', '1'])
    expect(await scene.look(iid)).toMatchObject({ status: 'completed', progress: '1' })
  })

  test('the turn that ends an instance may set it', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()

    await runtime.turns(
      turnItem(iid, { turn: turnRow(2), effects: effects({ progress: '"all"' }), next: END }),
    )

    expect(await scene.look(iid)).toMatchObject({ status: 'completed', progress: '"all"' })
  })

  test('an item that is refused or recognised from before sets nothing', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const stranger = await scene.otherRuntime()
    const iid = await runtime.ownOne()
    const first = turnItem(iid, { turn: turnRow(2), effects: effects({ progress: '1' }) })
    await runtime.turns(first)
    await runtime.turns(turnItem(iid, { turn: turnRow(3), effects: effects({ progress: '2' }) }))

    const verdicts = [
      ...(await runtime.turns(first)),
      ...(await stranger.turns(turnItem(iid, { effects: effects({ progress: '3' }) }))),
      ...(await runtime.turns(turnItem(iid, { epoch: 0, effects: effects({ progress: '4' }) }))),
    ]

    expect(verdicts).toEqual(['done', 'refused', 'refused'])
    expect((await scene.look(iid)).progress).toBe('2')
  })

  test('each instance of a batch has its own', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iids = await runtime.own(5)

    await runtime.turns(
      ...iids.map((iid, i) =>
        turnItem(iid, {
          turn: turnRow(2),
          effects: i === 2 ? null : effects({ progress: `${i}` }),
        }),
      ),
    )

    const rows = await scene.store.look(iids)
    expect(rows.map((row) => row?.progress)).toEqual(['0', '1', null, '3', '4'])
  })
}

function describeLabels({ test, expect, open }: Contract): void {
  test('labels are shown as they were given, through the whole life [test_get_instance_info]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [labelled, plain] = await runtime.reserve(2)
    const labels = '{"team":"blue","a.b":"é"}'
    const shown = {
      iid: labelled,
      id: 'info',
      workflow: { name: 'order', version: '1' },
      execution: 1,
      labels,
    }

    await runtime.starts(
      runtime.startItem(labelled!, { id: 'info', labels }),
      runtime.startItem(plain!),
    )
    const [running] = await scene.store.find(['info'])
    await runtime.turns(turnItem(labelled!, { turn: turnRow(2), next: END }))

    expect(running).toMatchObject({ ...shown, status: 'running' })
    expect(await scene.look(labelled!)).toMatchObject({ ...shown, status: 'completed' })
    expect((await scene.look(plain!)).labels).toBe('{}')
  })

  test('an unstarted instance has none, and a start whose id is taken sets none', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const taken = await runtime.ownOne()
    const [second] = await runtime.reserve(1)
    await scene.post(message('early', '1'))

    await runtime.starts(runtime.startItem(second!, { id: idOf(taken), labels: '{"a":"b"}' }))

    const rows = await scene.store.find(['early', idOf(taken)])
    expect(rows.map((row) => row?.labels)).toEqual(['{}', '{}'])
  })
}
