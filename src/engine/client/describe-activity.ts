// What there is to say about an activity or step that an instance waits for: which attempt, what the
// last one failed with, when the next one comes, since when and where it runs, or why nobody runs it.

import { errorToData } from '../../base/codec/error-data.ts'
import type { CommandEvent } from '../../store/history.ts'
import type { LiveRuntime, RuntimePlace, TaskPlace, Whereabouts } from '../../store/whereabouts.ts'
import { serves } from '../define/served-tags.ts'
import type { LocalAttempt } from '../core/local-runtime.ts'
import type { Values } from '../core/values.ts'

/** An activity or step, as an event of history names it. */
export type CalledEvent = Extract<CommandEvent, { type: 'activity' | 'step' }>

/** What an onlooker knows about those who work on an instance. */
export interface Observation {
  readonly values: Values
  /** The store's time, as far as it is known. */
  readonly now: number
  readonly whereabouts: Whereabouts
  /** Attempts that this very process makes at activities of the instance. */
  attemptAt?(command: number): LocalAttempt | undefined
}

/** What has become of a call so far. */
export interface CallState {
  /** When the code asked for it. */
  readonly givenAt: number
  /** The last attempt that failed and was noted in history. */
  readonly failed?: { readonly attempt: number; readonly retryAt: number; readonly error: string }
}

/** What is to be said about it, behind its name. */
export function describeActivity(
  event: CalledEvent,
  state: CallState,
  observation: Observation,
): string {
  const { whereabouts } = observation
  const task = whereabouts.tasks.find(({ command }) => command === event.command)
  if (task !== undefined) return describeTask(event, task, observation)
  return describeLocalAttempt(event.command, state, observation)
}

function describeTask(event: CalledEvent, task: TaskPlace, observation: Observation): string {
  const { attempts, holder, heldSince, visibleAt, error } = task
  if (holder !== null) {
    const failure = attempts > 1 ? describeFailure(attempts - 1, error, observation) : ''
    return `: attempt ${attempts}, ${describeRunning(heldSince, holder)}${failure}`
  }
  const next = attempts + 1
  const failure = describeFailure(attempts, error, observation)
  if (visibleAt !== null && visibleAt > observation.now) {
    return `: attempt ${next} at ${timeOf(visibleAt)}${failure}`
  }
  return `: attempt ${next}, waiting for a runtime${describeMissing(event, observation)}${failure}`
}

function describeLocalAttempt(
  command: number,
  { givenAt, failed }: CallState,
  observation: Observation,
): string {
  const { now, whereabouts } = observation
  const failure =
    failed === undefined ? '' : describeFailure(failed.attempt, failed.error, observation)
  const local = observation.attemptAt?.(command)
  const attempt = Math.max(local?.attempt ?? 1, (failed?.attempt ?? 0) + 1)
  if (local === undefined && failed !== undefined && failed.retryAt > now) {
    return `: attempt ${attempt} at ${timeOf(failed.retryAt)}${failure}`
  }
  const { owner } = whereabouts
  if (owner === null) {
    return `: attempt ${attempt}, waiting for a runtime to take the instance over${failure}`
  }
  if (local?.begun === false) {
    return `: attempt ${attempt}, waiting for a free slot ${placeOf(owner)}${failure}`
  }
  const since = Math.max(givenAt, failed?.retryAt ?? 0)
  return `: attempt ${attempt}, ${describeRunning(since, owner)}${failure}`
}

function describeRunning(since: number | null, place: RuntimePlace): string {
  return `running${since === null ? '' : ` since ${timeOf(since)}`} ${placeOf(place)}`
}

/** Host and process, as the runtime registered them. */
function placeOf({ runtime, info }: RuntimePlace): string {
  const [host = '', pid = ''] = info.split(' ')
  return `on ${host} (pid ${pid}, runtime ${runtime})`
}

function describeFailure(attempt: number, error: string | null, { values }: Observation): string {
  if (attempt === 0 || error === null) return ''
  const { name, message } = errorToData(values.error(error))
  return `; attempt ${attempt} failed with ${name}: ${message}`
}

/** Why no live runtime takes a task, if that can be told. */
function describeMissing(event: CalledEvent, { whereabouts }: Observation): string {
  if (event.type === 'step') return ''
  const { name, tag } = event
  const able = whereabouts.runtimes.filter((one) => one.serves === null || serves(one.serves, tag))
  if (able.length === 0) {
    return tag === ''
      ? '; no live runtime runs activities without a tag'
      : `; no live runtime serves tag "${tag}"`
  }
  if (able.some((one) => mayHaveCode(one, name))) return ''
  return '; no live runtime is known to have its code'
}

/** Whoever has the code of the workflow may have that of its activities, too. */
function mayHaveCode({ registers, serves: told, activities }: LiveRuntime, name: string): boolean {
  if (told === null || registers) return true
  return activities.includes(name) || told.activities.includes(name)
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
