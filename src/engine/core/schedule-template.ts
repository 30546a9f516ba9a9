import { isWrapped, unreadable } from '../../base/codec/transform.ts'
import type { Overlap, ScheduleRow } from '../../store/schedules.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { workflow, type WorkflowDefinition } from '../define/definitions.ts'
import { type NewInstance, newSeed } from './start-item.ts'
import { type Timetable, type Timing, timetable } from './timetable.ts'

// What the store keeps of a schedule as text: when it is due, and what it starts.

/** What all instances of a schedule have in common. */
export type StartTemplate = Omit<
  NewInstance,
  'definition' | 'id' | 'seed' | 'trace' | 'parent' | 'iid'
>

/** What a schedule starts, and how. */
export interface ScheduleTemplate {
  readonly overlap: Overlap
  readonly catchUpMs: number
  readonly start: StartTemplate
}

/** The label that has the name of the schedule which started an instance. */
export const SCHEDULE_LABEL = 'schedule'

/** The part of a start that is the same for all instances of a schedule. */
export function startTemplate(start: NewInstance): StartTemplate {
  // Its instances are not part of what was going on when it was set: each has a trace of its own.
  const { definition: _, id: _1, seed: _2, trace: _3, parent: _4, iid: _5, ...template } = start
  return template
}

/** Reads what a schedule starts. Throws if this process lacks the codec or the key that it was stored with. */
export function templateOf({ template }: ScheduleRow): ScheduleTemplate {
  if (isWrapped(template)) throw unreadable(template)
  return JSON.parse(template) as ScheduleTemplate
}

/** Reads when a schedule is due, and its due times. Throws if this version cannot compute them. */
export function timingOf({ timing, anchor }: ScheduleRow): { timing: Timing; table: Timetable } {
  const parsed = JSON.parse(timing) as Timing
  return { timing: parsed, table: timetable(parsed, anchor) }
}

/** The id of the instance for a due time: the same, whichever runtime starts it. */
export function idForDueTime(name: string, at: number): string {
  return `${name}/${new Date(at).toISOString().replace('.000Z', 'Z')}`
}

/** An instance of a schedule. */
export function scheduledInstance(row: ScheduleRow, id: string): NewInstance {
  const { start } = templateOf(row)
  const labels = { ...(JSON.parse(start.labels) as object), [SCHEDULE_LABEL]: row.name }
  return {
    ...start,
    definition: definitionOf(row),
    labels: JSON.stringify(labels),
    id,
    seed: newSeed(),
    trace: undefined,
    parent: null,
    iid: undefined,
  }
}

/** A start without an owner needs only the name and the version. */
function definitionOf({ workflowName: { name, version } }: ScheduleRow): WorkflowDefinition {
  return { ...checkWorkflow('schedule', workflow(name)), version }
}
