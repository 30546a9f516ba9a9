// Describes an activity or step that an instance waits for: the attempt, the last error, the time of
// the next attempt, since when and where it runs, or why no runtime runs it.

import { errorToData } from '../../base/codec/error-data.ts'
import type { CommandEvent } from '../../store/history.ts'
import type { LiveRuntime, RuntimePlace, TaskPlace, Whereabouts } from '../../store/whereabouts.ts'
import { serves } from '../define/served-tags.ts'
import type { LocalAttempt } from '../core/local-runtime.ts'
import type { Values } from '../core/values.ts'

/** The history event of an activity or step. */
export type CalledEvent = Extract<CommandEvent, { type: 'activity' | 'step' }>

/** What this process knows about the work on an instance. */
export interface Observation {
  readonly values: Values
  /** The estimated time of the store. */
  readonly now: number
  readonly whereabouts: Whereabouts
  /** The attempt of this process at an activity of the instance, if any. */
  attemptAt?(command: number): LocalAttempt | undefined
}

/** The progress of a call so far. */
export interface CallState {
  /** When the code made the call. */
  readonly givenAt: number
  /** The last failed attempt in history. */
  readonly failed?: { readonly attempt: number; readonly retryAt: number; readonly error: string }
}

/** Describes the state of an activity, to append to its name. */
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
  const { attempts, owner, ownedSince, visibleAt, error } = task
  if (owner !== null) {
    const failure = attempts > 1 ? describeFailure(attempts - 1, error, observation) : ''
    return `: attempt ${attempts}, ${describeRunning(ownedSince, owner)}${failure}`
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

/** Why no live runtime takes a task, if that is known. */
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

/** A runtime that registers the workflow may have the code of its activities as well. */
function mayHaveCode(
  { registers, serves: served, activities }: LiveRuntime,
  name: string,
): boolean {
  if (served === null || registers) return true
  return activities.includes(name) || served.activities.includes(name)
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
