/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import { activity, type Activity, channel, workflow } from '../../src/index.ts'
import { registryOf } from '../../src/engine/define/registry.ts'
import { describeInPlaces, untilItWaitsFor } from '../support/contract.ts'
import { eventually } from '../support/engine.ts'
import { eventsOf } from '../support/histories.ts'

// Differences: there are no policies; a caller that wants another version than the latest names it
// when it starts the instance. There is no registry to build: definitions are constants, and lists
// of them are registered.

const go = channel<string>('go')
/** A workflow whose result is its version. */
const versioned = (name: string, version: string) =>
  workflow(name, { version }, async (_: undefined, ctx) => ctx.info.version)
const both = (name: string) => [versioned(name, '1.0.0'), versioned(name, '2.0.0')] as const

describeInPlaces('versions', (place) => {
  test.each([
    ['of a workflow [runtime_start_versioned_string_uses_explicit_version]', 'v-plain'],
    ['of a typed one [runtime_start_versioned_typed_uses_explicit_version]', 'v-typed'],
    ['that pins it [policy_exact_pins_start]', 'v-pinned'],
  ])('a start %s takes the requested version', async (_title, name) => {
    const [one, two] = both(name)
    const runtime = await place.open([one, two])

    expect(await runtime.run(one, undefined, { version: '1.0.0' })).toBe('1.0.0')
  })

  test('a start takes the latest [start_uses_latest_version]', async () => {
    const [one, two] = both('v-latest')
    const runtime = await place.open([two, one])
    const instance = await runtime.start(one)

    expect(await instance.result()).toBe('2.0.0')
    expect((await instance.info())?.version).toBe('2.0.0')
  })

  test.each([
    ['asked for, or the latest [sub_orchestration_versioned_explicit_and_policy]', 'v-child'],
    [
      'the latest, or what is named [sub_orchestration_uses_latest_by_default_and_pinned_when_set]',
      'v-child-2',
    ],
  ])('a child has the version that is %s', async (_title, name) => {
    const [one, two] = both(name)
    const parent = workflow(`${name}-parent`, async (_: undefined, ctx) => [
      await ctx.run(one, undefined, { version: '1.0.0' }),
      await ctx.run(one),
    ])
    const runtime = await place.open([parent, one, two])

    expect(await runtime.run(parent)).toEqual(['1.0.0', '2.0.0'])
  })

  test('an instance that is only started has the latest version [detached_versioned_uses_policy_latest]', async () => {
    const [one, two] = both('v-detached')
    const starts = workflow('v-starts', async (_: undefined, ctx) => {
      await ctx.start(one, undefined, { id: 'v-detached-1' })
      await ctx.start(one, undefined, { id: 'v-detached-2', version: '1.0.0' })
    })
    const runtime = await place.open([starts, one, two])
    await runtime.run(starts)

    expect(await runtime.get('v-detached-1').result()).toBe('2.0.0')
    expect(await runtime.get('v-detached-2').result()).toBe('1.0.0')
  })

  test('the next execution has the version that is named [continue_as_new_versioned_typed_explicit]', async () => {
    const code = (version: string) =>
      workflow('v-can', { version }, async (n: number, ctx): Promise<string> =>
        n === 0 ? ctx.continueAsNew(1, { version: '2.0.0' }) : `${version} ${n}`,
      )
    const runtime = await place.open([code('1.0.0'), code('2.0.0'), code('3.0.0')])

    expect(await runtime.run(code('1.0.0'), 0, { version: '1.0.0' })).toBe('2.0.0 1')
  })

  test('the next execution has the latest, and stays with it [continue_as_new_upgrades_version_deterministically]', async () => {
    const one = workflow('v-up', async (n: number, ctx): Promise<string> =>
      ctx.continueAsNew(n + 1),
    )
    const two = workflow('v-up', { version: '2.0.0' }, async (n: number, ctx) => {
      await ctx.receive(go)
      return `two ${n}`
    })
    const first = await place.open([one, two])
    const instance = await first.start(one, 1, { id: 'v-up', version: '1.0.0' })
    await untilItWaitsFor(instance, 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open([one, two])
    await second.get('v-up').send(go, 'on')

    expect(await second.get('v-up').result()).toBe('two 2')
    const starts = await Promise.all(
      [1, 2].map(async (execution) => (await eventsOf(second.get('v-up'), { execution }))[0]!.data),
    )
    expect(starts).toMatchObject([{ version: '1.0.0' }, { version: '2.0.0' }])
  })

  test('a child that was upgraded is called in its latest version [parent_calls_child_upgrade_child_and_verify_latest_used]', async () => {
    const [one, two] = both('v-upgraded')
    const parent = workflow('v-upgrade-parent', async (_: undefined, ctx) => ctx.run(one))
    const first = await place.open([parent, one])
    expect(await first.run(parent)).toBe('1.0.0')
    await first.close()

    const second = await place.open([parent, one, two])

    expect(await second.run(parent)).toBe('2.0.0')
  })

  test.each([
    ['after a restart [e2e_replay_completion_only_must_use_version_from_history]', 'v-stays', 0],
    [
      'in a later execution [e2e_replay_completion_only_after_can_must_use_version_from_history]',
      'v-stays-can',
      1,
    ],
    [
      'with the input of its execution [e2e_can_input_preserved_during_completion_only_replay]',
      'v-stays-input',
      2,
    ],
  ])('an instance keeps the version it was started with, %s', async (_title, name, executions) => {
    const code = (version: string) =>
      workflow(name, { version }, async (n: number, ctx): Promise<string> => {
        if (n < executions) return ctx.continueAsNew(n + 1, { version: '1.0.0' })
        return `${version} ${n} ${await ctx.receive(go)}`
      })
    const first = await place.open(code('1.0.0'))
    const instance = await first.start(code('1.0.0'), 0, { id: name })
    await untilItWaitsFor(instance, 'channel "go"')
    await first.close({ drain: 0 })
    const second = await place.open([code('1.0.0'), code('2.0.0')])
    await second.get(name).send(go, 'on')

    expect(await second.get(name).result()).toBe(`1.0.0 ${executions} on`)
  })
})

describe('what is registered', () => {
  const [one, two] = both('r')
  const act = activity('act', (n: number) => n)
  const other = activity('other', (n: number) => n)

  test.each<[string, Parameters<typeof registryOf>[0]]>([
    ['lists in lists [test_orchestration_registry_merge]', [[one], [two], [act, other]]],
    ['a module [test_orchestration_registry_builder_from]', { one, two, act, other, more: 'else' }],
    ['one list [test_orchestration_registry_chained_register]', [one, two, act, other]],
    [
      'a list of modules [test_orchestration_registry_merge_with_chained_register]',
      [{ one, two }, [{ act }, other]],
    ],
    ['lists of activities [test_activity_registry_merge]', [[act], [other], one, two]],
    [
      'a module of activities [test_activity_registry_from_registry]',
      [
        { act, other },
        { one, two },
      ],
    ],
    ['activities one by one [test_activity_registry_chained_register]', [act, other, one, two]],
    [
      'a list, and one more [test_activity_registry_merge_with_chained_register]',
      [[one, two, act], other],
    ],
    [
      'modules of several packages [test_cross_crate_composition_pattern]',
      [
        { one, act },
        { two, other },
      ],
    ],
    ['all at once [test_register_all]', { nothing: null, one, two, act, other }],
    ['the same twice [test_registry_clone_shares_policy]', [one, two, act, other, act, one]],
  ])('definitions come as %s', (_title, registrable) => {
    const registry = registryOf(registrable)

    expect(registry.workflows.map(({ version }) => version).toSorted()).toEqual(['1.0.0', '2.0.0'])
    expect(registry.workflow({ name: 'r', version: '1.0.0' })).toBe(one)
    expect(registry.latest('r')).toBe(two)
    expect(registry.activity('act')).toBe(act)
    expect(registry.activity('other')).toBe(other)
  })

  test.each<[string, Parameters<typeof registryOf>[0]]>([
    [
      'activities of one name [test_activity_registry_builder_detects_duplicates]',
      [act, activity('act', () => 1)],
    ],
    [
      'activities in two modules [test_activity_registry_merge_duplicate_errors]',
      [{ act }, { again: activity('act', () => 1) }],
    ],
    [
      'workflows without a version [duplicate_default_version_returns_error]',
      [workflow('d', async () => 1), workflow('d', async () => 2)],
    ],
    [
      'workflows of one version [duplicate_specific_version_returns_error]',
      [one, versioned('r', '1.0.0')],
    ],
  ])('two different %s are refused', (_title, registrable) => {
    expect(() => registryOf(registrable)).toThrow('two different definitions')
  })

  test.each([
    [
      '[register_default_is_1_0_0_and_list_versions]',
      workflow('plain', async () => 1).version,
      '1.0.0',
    ],
    [
      '[register_multiple_versions_latest_is_highest]',
      registryOf([one, two]).latest('r')?.version,
      '2.0.0',
    ],
    ['[test_resolve_version_latest]', registryOf([two, one]).latest('r')?.version, '2.0.0'],
    [
      '[test_resolve_version_exact]',
      registryOf([two, one]).workflow({ name: 'r', version: '1.0.0' })?.version,
      '1.0.0',
    ],
    ['[policy_exact_pins_resolve_handler]', registryOf([one, two]).workflow(one), one],
    [
      '[resolve_handler_exact_missing_returns_none]',
      registryOf([one]).workflow({ name: 'r', version: '9.0.0' }),
      undefined,
    ],
    [
      '[test_resolve_handler_exact_policy_missing_version]',
      registryOf([one]).workflow(two),
      undefined,
    ],
    ['[non_monotonic_registration_panics]', registryOf([two, one]).latest('r'), two],
    [
      '[test_list_versions_ordering]',
      registryOf([versioned('o', '1.10.0'), versioned('o', '1.9.0')]).latest('o')?.version,
      '1.10.0',
    ],
    ['[test_activity_registry_has]', registryOf([act]).activity('nobody'), undefined],
    ['[test_orchestration_registry_has_and_count]', registryOf([one, two]).workflows.length, 2],
    ['[test_register_versioned_typed]', versioned('t', '3.1.4').version, '3.1.4'],
  ])('versions and names are found %s', (_title, found, expected) => {
    expect(found).toBe(expected)
  })

  test.each([
    ['of nothing [test_empty_registry_resolution]', []],
    ['of a contract without code [test_registry_default]', activity<string, string>('contract')],
  ])('a registry %s is refused', (_title, registrable) => {
    expect(() => registryOf(registrable)).toThrow('no workflow and no activity')
  })
})

describeInPlaces('what activities and workflows can read about themselves', (place) => {
  test('an activity can read where it belongs [activity_context_metadata]', async () => {
    const knows = activity('k-knows', (_: undefined, { info, attempt }) => ({ ...info, attempt }))
    const asks = workflow('k-asks', async (_: undefined, ctx) => ctx.run(knows))
    const runtime = await place.open(asks)

    expect(await runtime.run(asks, undefined, { id: 'k-1' })).toEqual({
      instanceId: 'k-1',
      workflow: 'k-asks',
      activity: 'k-knows',
      attempt: 1,
    })
  })

  test('an activity is typed from end to end [test_activity_register_typed]', async () => {
    const typed: Activity<{ n: number }, Map<string, number>> = activity(
      'k-typed',
      ({ n }: { n: number }) => new Map([['n', n]]),
    )
    const asks = workflow('k-asks-typed', async (n: number, ctx) =>
      (await ctx.run(typed, { n })).get('n'),
    )
    const runtime = await place.open(asks)

    expect(await runtime.run(asks, 3)).toBe(3)
  })

  test('a workflow can read its id, version, execution and parent [orchestration_context_metadata_accessors]', async () => {
    const knows = workflow('k-workflow', async (_: undefined, ctx) => ({
      ...ctx.info,
      replaying: false,
    }))
    const parent = workflow('k-parent', async (_: undefined, ctx) =>
      ctx.run(knows, undefined, { id: 'k-2' }),
    )
    const runtime = await place.open([parent, knows])

    expect(await runtime.run(parent, undefined, { id: 'k-3' })).toEqual({
      id: 'k-2',
      execution: 1,
      workflow: 'k-workflow',
      version: '1.0.0',
      parentId: 'k-3',
      replaying: false,
    })
    await eventually(async () => (await runtime.get('k-3').info())?.finishedAt !== undefined)
  })
})
