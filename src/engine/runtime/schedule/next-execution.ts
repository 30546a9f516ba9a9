// From one execution of an instance to the next.

import type { Next, TurnRow } from '../../../store/commits.ts'
import { readEvents, writeEvents } from '../../../store/history.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import type { Execution, Outcome } from '../../replay/execution.ts'
import { parse } from '../../define/schema.ts'
import type { Values } from '../../core/values.ts'
import { type LiveInstance, newLiveInstance } from '../../instance/live-instance.ts'
import { newSeed } from '../../core/start-item.ts'
import { startedEvent } from '../../instance/turn-record.ts'

/** What has to be known about workflows to go on with one. */
export interface ContinueHost {
  readonly values: Values
  /** The code of a version; without one, of the latest. */
  workflow(name: string, version: string | undefined): WorkflowDefinition | undefined
  workflowNumber(definition: WorkflowDefinition): number | undefined
  /** The number of a workflow whose code is not here. */
  foreignNumber(name: string, version: string): Promise<number>
}

/** The first row of the next execution; throws when its input is not what the workflow takes. */
export async function nextExecution(
  instance: LiveInstance,
  { input: given, version }: Extract<Outcome, { kind: 'continued' }>,
  host: ContinueHost,
): Promise<Extract<Next, { kind: 'continue' }>> {
  const { values } = host
  const { name, version: current } = instance.definition
  const definition = host.workflow(name, version) ?? {
    ...instance.definition,
    version: version ?? current,
  }
  const what = `ctx.continueAsNew: input of workflow "${name}"`
  const input =
    definition.input === undefined
      ? given
      : values.encode(await parse(definition.input, values.value(given), what), what)
  const started = {
    seed: newSeed(),
    parentId: instance.started.parentId,
    state: instance.writeState(),
  }
  const events = writeEvents([startedEvent({ definition, input, started })])
  const number = host.workflowNumber(definition)
  return {
    kind: 'continue',
    started: {
      execution: instance.execution + 1,
      turn: 1,
      at: instance.at,
      first: 1,
      count: 1,
      events,
    },
    workflow: number ?? (await host.foreignNumber(name, definition.version)),
    keep: number !== undefined,
  }
}

/** The copy that goes on where `copy` has ended: messages stay, and so does a wish for the end. */
export function nextLiveInstance(
  instance: LiveInstance,
  { execution, at, events }: TurnRow,
  host: ContinueHost,
  makeExecution: (definition: WorkflowDefinition, id: string) => Execution,
): LiveInstance {
  const { iid, id, parent, epoch, mailbox, unread, known, stop } = instance
  const [started] = readEvents(events) as [ReturnType<typeof startedEvent>]
  const { workflow, version, input } = started
  const definition = host.workflow(workflow, version)!
  const run = makeExecution(definition, id)
  return {
    ...newLiveInstance({ iid, id, definition, run, input, started, parent }),
    execution,
    epoch,
    mailbox,
    unread,
    mailDue: true,
    known,
    stop,
    // Results were for the last execution; a cancellation is for the instance.
    arrivals: [...instance.held, ...instance.arrivals].filter(
      ({ event }) => event.type === 'cancelled',
    ),
    turn: 1,
    seq: 1,
    startedAt: at,
    at,
    turnAt: at,
    past: [{ at, events: [started] }],
    reopened: true,
  }
}
