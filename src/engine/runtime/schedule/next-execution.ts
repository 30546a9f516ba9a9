// From one execution of an instance to the next.

import type { Next, TurnRow } from '../../../store/commits.ts'
import { readEvents, writeEvents } from '../../../store/history.ts'
import { newSeed } from '../../core/start-item.ts'
import type { WorkflowNumbers } from '../../core/workflow-numbers.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import { parse } from '../../../base/schema.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { startedEvent } from '../../instance/turn-record.ts'
import type { Execution, Outcome } from '../../replay/execution.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

/** The first row of the next execution; throws when the workflow does not take its input. */
export async function nextExecution(
  instance: LiveInstance,
  { input: given, version }: Extract<Outcome, { kind: 'continued' }>,
  {
    registry,
    values,
    newUuid,
    tracer,
  }: Pick<RuntimeCore, 'registry' | 'values' | 'newUuid' | 'tracer'>,
  numbers: WorkflowNumbers,
): Promise<Extract<Next, { kind: 'continue' }>> {
  const { name, version: current } = instance.definition
  const registered =
    version === undefined ? registry.latest(name) : registry.workflow({ name, version })
  const definition = registered ?? { ...instance.definition, version: version ?? current }
  const what = `ctx.continueAsNew: input of workflow "${name}"`
  const input =
    definition.input === undefined
      ? given
      : values.encode(await parse(definition.input, values.value(given), what), what)
  const { parentId, trace: own } = instance.started
  // All executions of an instance are in one trace, which may follow from the seed of the first.
  const trace = own ?? tracer?.contextOf(instance) ?? undefined
  const traced = trace === undefined ? {} : { trace }
  const started = { seed: newSeed(newUuid), parentId, state: instance.writeState(), ...traced }
  const events = writeEvents([startedEvent({ definition, input, started })])
  const { execution, at } = instance
  const number = numbers.of(definition)
  return {
    kind: 'continue',
    started: { execution: execution + 1, turn: 1, at, first: 1, count: 1, events },
    workflow: number ?? (await numbers.ask(name, definition.version)),
    keep: number !== undefined,
  }
}

/** The instance as its next execution, which begins with this row. */
export function continueInstance(
  instance: LiveInstance,
  row: TurnRow,
  { registry }: Pick<RuntimeCore, 'registry'>,
  scheduler: { execution(definition: WorkflowDefinition, id: string): Execution },
): LiveInstance {
  const [started] = readEvents(row.events) as [ReturnType<typeof startedEvent>]
  const { workflow: name, version, input } = started
  const definition = registry.workflow({ name, version })!
  const run = scheduler.execution(definition, instance.id)
  const past = [{ at: row.at, events: [started] }]
  return instance.continued({ definition, run, input, started }, row, past)
}
