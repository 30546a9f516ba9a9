import { expect, test } from 'vitest'
import { type Runtime, workflow } from '../../src/index.ts'
import { checkAgainst, type CheckProgress } from '../../src/testing/index.ts'
import { describeOnStores, openSpace, type Space, type StoreKind } from '../support/engine.ts'
import { after, before, BREAKING, called, type Edit, kid, SAFE } from './edits.ts'

/** Instances of every edit, as its code was, that have done all they can. */
async function begin(space: Space, edits: readonly Edit[], count = 1): Promise<Runtime> {
  const workflows = before(edits)
  const runtime = await space.open([...workflows, kid])
  for (const [i, one] of workflows.entries()) {
    for (let n = 1; n <= count; n++) {
      await runtime.start(one, 3, { id: `${edits[i]!.name} ${n}` })
    }
  }
  await runtime.idle()
  called.length = 0
  return runtime
}

const STORES = ['file', 'postgres'] as const

describeOnStores('checkAgainst a store', suite, STORES)

test('a workflow that is not registered is refused, with a guess', async () => {
  const order = workflow('order', async () => 1)

  await expect(checkAgainst([], { register: order, workflows: ['oder'] })).rejects.toThrow(
    'checkAgainst: workflows: unknown workflow "oder", did you mean "order"?',
  )
})

function suite(kind: StoreKind): void {
  test('it tells breaking from safe edits, and names command, line and patch', async () => {
    await using space = await openSpace(kind)
    await begin(space, [...BREAKING, ...SAFE])

    const { ok, findings, checked, broken, report } = await checkAgainst(space.store, {
      register: [...after(BREAKING), ...after(SAFE), kid],
    })

    expect(findings.map(({ workflow: name }) => name).toSorted()).toEqual(
      BREAKING.map(({ name }) => name).toSorted(),
    )
    for (const { name, finds } of BREAKING) {
      const finding = findings.find((one) => one.workflow === name)!
      expect(finding).toMatchObject({
        workflow: name,
        version: '1.0.0',
        nextVersion: '1.1.0',
        kind: finds!.change === 'other' ? 'broken-rule' : 'mismatch',
        change: finds!.change,
        message: expect.stringMatching(finds!.message),
        patch: expect.stringMatching(finds!.patch ?? /^/),
        running: 1,
        finished: 0,
        examples: [`${name} 1`],
      })
      expect(report).toContain(finding.message)
    }
    // Two of the safe edits and the child have ended.
    expect({ ok, checked, broken }).toEqual({
      ok: false,
      checked: BREAKING.length + SAFE.length + 1,
      broken: BREAKING.length,
    })
    expect(called).toEqual([])
  })

  test('it groups what breaks in the same way, and reports progress', async () => {
    await using space = await openSpace(kind)
    const edits = [BREAKING[4]!, SAFE[0]!]
    await begin(space, edits, 8)
    const progress: CheckProgress[] = []

    const { findings } = await checkAgainst(space.store, {
      register: after(edits),
      onProgress: (one) => progress.push(one),
    })

    expect(findings).toMatchObject([{ running: 8, finished: 0, command: 2 }])
    expect(findings[0]!.examples).toHaveLength(5)
    expect(progress).toHaveLength(16)
    expect(progress.at(-1)).toEqual({ checked: 16, broken: 8, total: 16 })
  })

  test('it checks at most as many of each workflow as it may, the oldest and the newest', async () => {
    await using space = await openSpace(kind)
    const edits = [BREAKING[4]!, SAFE[9]!]
    await begin(space, edits, 6)

    const few = await checkAgainst(space.store, {
      register: after(edits),
      running: 3,
      recent: 2,
    })
    const none = await checkAgainst(space.store, {
      register: after(edits),
      running: 0,
      recent: 0,
    })

    expect(few).toMatchObject({ checked: 5, broken: 3 })
    const last = few.findings[0]!.examples.map((id) => id.at(-1)!)
    expect(last.toSorted()).toEqual(['1', '5', '6'])
    expect(none).toMatchObject({ ok: true, checked: 0, findings: [] })
  })

  test('instances that have ended stand for those that will be running', async () => {
    await using space = await openSpace(kind)
    const edit: Edit = {
      name: 'ended',
      before: SAFE[9]!.before,
      after: async (n, ctx) => {
        await ctx.sleep(1)
        return SAFE[9]!.before(n, ctx)
      },
    }
    await begin(space, [edit], 2)

    const { findings } = await checkAgainst(space.store, { register: after([edit]) })

    expect(findings).toMatchObject([{ running: 0, finished: 2, change: 'added' }])
  })

  test('a version with unfinished instances has to stay registered', async () => {
    await using space = await openSpace(kind)
    await begin(space, [SAFE[0]!, SAFE[9]!], 2)
    const next = [SAFE[0]!, SAFE[9]!].map(({ name, after: code }) =>
      workflow(name, { version: '2.0.0' }, code),
    )

    const gone = await checkAgainst(space.store, { register: next })
    const both = await checkAgainst(space.store, { register: [...next, ...after([SAFE[0]!])] })

    expect(gone.findings).toMatchObject([
      { kind: 'unregistered', version: '1.0.0', running: 2, examples: expect.any(Array) },
    ])
    expect(gone.findings[0]!.examples).toHaveLength(2)
    expect(gone.report).toContain('register its code as well')
    expect(both.ok).toBe(true)
  })

  test('workflows of other services are mentioned, and break nothing', async () => {
    await using space = await openSpace(kind)
    await begin(space, [SAFE[0]!, SAFE[1]!])

    const one = await checkAgainst(space.store, { register: after([SAFE[0]!]) })
    const named = await checkAgainst(space.store, {
      register: after([SAFE[0]!, SAFE[1]!]),
      workflows: [SAFE[1]!.name],
    })

    expect(one).toMatchObject({ ok: true, checked: 1 })
    expect(one.notRegistered).toEqual([{ workflow: SAFE[1]!.name, version: '1.0.0', running: 1 }])
    expect(one.report).toContain(`not checked, since it is not registered here: ${SAFE[1]!.name}`)
    expect(named).toMatchObject({ ok: true, checked: 1, notRegistered: [] })
  })

  test('the current execution of an instance counts', async () => {
    await using space = await openSpace(kind)
    const runtime = await space.open(loop('first'))
    await runtime.start(loop('first'), 1)
    await runtime.idle()

    const { ok, checked } = await checkAgainst(space.store, { register: loop('changed') })

    expect({ ok, checked }).toEqual({ ok: true, checked: 1 })
  })
}

/** Three executions, of which the last one waits. */
function loop(first: string) {
  return workflow('loop', async (round: number, ctx) => {
    await ctx.step(round === 1 ? first : 'later', () => round)
    if (round < 3) return ctx.continueAsNew(round + 1)
    return ctx.sleep('30d')
  })
}
