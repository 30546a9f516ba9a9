// Sets and controls schedules. Runtimes fire them: see `runtime/discover/schedule-firer.ts`.

import { isWrapped } from '../../base/codec/transform.ts'
import { describe } from '../../base/describe.ts'
import { isPlainObject } from '../../base/plain-object.ts'
import { oneOf, option, resolveOptions } from '../../base/options.ts'
import { duration } from '../../base/time/duration.ts'
import { NO_VERSION } from '../../store/instances.ts'
import type { ScheduleRow } from '../../store/schedules.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { Instance } from '../define/instance.ts'
import { checkName } from '../define/names.ts'
import type { Schedule, ScheduleInfo, Schedules } from '../define/schedule.ts'
import { START_OPTIONS } from '../define/start-options.ts'
import { following } from '../core/due-plan.ts'
import { NotFoundError } from '../core/errors.ts'
import { momentAfter } from '../core/moments.ts'
import { resend } from '../core/resend.ts'
import {
  SCHEDULE_LABEL,
  scheduledInstance,
  type ScheduleTemplate,
  startTemplate,
  templateOf,
  timingOf,
} from '../core/schedule-template.ts'
import { newSeed, startItem, unownedWorkflow } from '../core/start-item.ts'
import { type Timetable, type Timing, timetable } from '../core/timetable.ts'
import type { ClientCore } from './client-core.ts'
import { handle } from './handle.ts'
import { newInstance } from './starter.ts'

const MIN_EVERY_MS = 1_000
const SHOWN_RUNS = 5
// A try fails only when a runtime has just fired the schedule, or another client has changed it.
const MAX_TRIES = 20

const WHEN_OPTIONS = {
  cron: option(checkText, undefined),
  every: duration(undefined, { min: MIN_EVERY_MS }),
  timezone: option(checkText, undefined),
  overlap: oneOf(['skip', 'queue', 'allow'], 'skip'),
  catchUp: duration(3_600_000),
}

const { id: _id, onConflict: _onConflict, ...SCHEDULED_START_OPTIONS } = START_OPTIONS

/** Creates a schedule, or changes the one that has its name. */
export async function schedule(
  core: ClientCore,
  name: unknown,
  when: Schedule,
  workflow: WorkflowDefinition,
  input: unknown,
  given: object | undefined,
): Promise<void> {
  const { store, clock, log } = core.setup
  const owner = `schedule ${checkName('schedule', name)}`
  const { timing, table, overlap, catchUpMs } = resolveWhen(owner, when)
  const start = await templateFor(core, owner, workflow, input, given)
  await core.open()
  const workflowNumber = await core.workflowNumber(start.workflow)
  const now = await store.now()
  const template: ScheduleTemplate = { overlap, catchUpMs, start: start.template }
  const wanted = {
    name: name as string,
    revision: newSeed(),
    workflow: workflowNumber,
    timing: JSON.stringify(timing),
    template: JSON.stringify(template),
    anchor: now,
    nextAt: firstDue(owner, when, table(now), now),
  }
  const outcome = await resend(clock, () => store.schedules.put(wanted))
  if (outcome === 'unchanged') return
  log.info({ schedule: name, workflow: workflow.name }, `schedule ${outcome}`)
  changed(core)
}

/** What to start, checked as by `start`. */
async function templateFor(
  core: ClientCore,
  owner: string,
  workflow: WorkflowDefinition,
  input: unknown,
  given: object | undefined,
) {
  for (const name of ['id', 'onConflict']) {
    if (!isPlainObject(given) || given[name] === undefined) continue
    throw new TypeError(
      `${owner}: ${name} cannot be given: each start gets an id of its own, the name of the schedule and the due time`,
    )
  }
  const options = resolveOptions(owner, given, SCHEDULED_START_OPTIONS)
  if (Object.hasOwn(JSON.parse(options.labels) as object, SCHEDULE_LABEL)) {
    throw new TypeError(
      `${owner}: labels.${SCHEDULE_LABEL} cannot be given: it is the name of the schedule`,
    )
  }
  const instance = await newInstance(core, workflow, input, {
    ...options,
    id: '',
    onConflict: 'return',
  })
  return { workflow: unownedWorkflow(instance), template: startTemplate(instance) }
}

function resolveWhen(owner: string, when: Schedule) {
  const { cron, every, timezone, overlap, catchUp } = resolveOptions(owner, when, WHEN_OPTIONS)
  if ((cron === undefined) === (every === undefined)) {
    throw new TypeError(`${owner}: give either cron or every`)
  }
  if (every !== undefined && timezone !== undefined) {
    throw new TypeError(
      `${owner}: timezone has no meaning for every, which counts elapsed time; use it with cron`,
    )
  }
  const timing: Timing =
    cron === undefined ? { everyMs: every! } : { cron, timezone: timezone ?? 'UTC' }
  const table = (anchor: number): Timetable => {
    try {
      return timetable(timing, anchor)
    } catch (error) {
      throw invalidTiming(owner, when, error)
    }
  }
  // Before anything is sent.
  table(0)
  return { timing, table, overlap, catchUpMs: catchUp }
}

function invalidTiming(owner: string, { cron, timezone }: Schedule, error: unknown): RangeError {
  const { message } = error as Error
  const isZone = message.startsWith('unknown time zone')
  const what = isZone ? 'timezone' : 'cron'
  const advice = isZone
    ? `give the name of an IANA time zone, such as 'Europe/Berlin' or 'UTC'`
    : `give a pattern such as '0 9 * * MON-FRI'`
  const value = describe(isZone ? timezone : cron)
  return new RangeError(`${owner}: ${what} ${value} is invalid: ${message}; ${advice}`, {
    cause: error,
  })
}

function firstDue(owner: string, { cron, every }: Schedule, table: Timetable, now: number): number {
  const next = table.next(now)
  if (next !== undefined) return next
  if (every !== undefined) {
    throw new RangeError(
      `${owner}: every ${describe(every)} is never due: its first start exceeds the latest possible date`,
    )
  }
  throw new RangeError(`${owner}: cron ${describe(cron)} is never due; change its day or its month`)
}

function checkText(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw new TypeError(`${what} must be a non-empty string, got ${describe(value)}`)
}

/** Tells the runtime of this process, and those of others, to look at schedules. */
function changed(core: ClientCore): void {
  core.setup.runtime?.schedulesChanged()
  core.announce({ kind: 'freed' })
}

/** The methods of `client.schedules`. */
export function schedules(core: ClientCore): Schedules {
  const { store, clock } = core.setup
  return {
    async list() {
      await core.open()
      return (await store.schedules.read()).map(toInfo)
    },
    async get(name) {
      const row = await find(core, 'get', name)
      return row && toInfo(row)
    },
    pause: (name) => setPaused(core, 'pause', name, true),
    resume: (name) => setPaused(core, 'resume', name, false),
    trigger: (name) => trigger(core, name),
    async delete(name) {
      checkName('delete: schedule', name)
      await core.open()
      return resend(clock, () => store.schedules.remove(name))
    },
  }
}

async function find(
  core: ClientCore,
  verb: string,
  name: string,
): Promise<ScheduleRow | undefined> {
  checkName(`${verb}: schedule`, name)
  await core.open()
  const [row] = await core.setup.store.schedules.read([name])
  return row
}

async function existing(core: ClientCore, verb: string, name: string): Promise<ScheduleRow> {
  const row = await find(core, verb, name)
  if (row !== undefined) return row
  throw new NotFoundError(`${verb}: there is no schedule "${name}"`, name)
}

async function setPaused(
  core: ClientCore,
  verb: string,
  name: string,
  paused: boolean,
): Promise<void> {
  const { store, clock, log } = core.setup
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const row = await existing(core, verb, name)
    if (row.paused === paused) return
    const { revision, nextAt: due } = row
    const next = paused ? row : nextDue(row, await store.now())
    const move = { name, revision, due, nextAt: next.nextAt, setAt: next.setAt, paused }
    if (!(await resend(clock, () => store.schedules.move(move)))) continue
    log.info({ schedule: name }, paused ? 'schedule paused' : 'schedule resumed')
    if (!paused) changed(core)
    return
  }
  throw new Error(`${verb}: schedule "${name}" keeps changing; try again`)
}

/** The next due time of a schedule that is resumed: what passed while it was paused is left out. */
function nextDue(row: ScheduleRow, now: number): Pick<ScheduleRow, 'nextAt' | 'setAt'> {
  return row.nextAt > now ? row : { nextAt: following(timingOf(row).table, now), setAt: now }
}

async function trigger(core: ClientCore, name: string): Promise<Instance> {
  const { store, clock, log, runtime } = core.setup
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const row = await existing(core, 'trigger', name)
    const instance = scheduledInstance(row, `${name}/${core.newId()}`)
    const { id, delayMs } = instance
    const iid = await core.iids.take()
    const wakeAt = momentAfter(await store.now(), delayMs)
    const item = startItem(instance, { iid, workflow: row.workflow, at: 0, wakeAt })
    const verdict = await resend(clock, () => store.schedules.trigger(row, item))
    // The schedule was changed, perhaps after this was done and its answer lost; or after a failover
    // the server gave out the number twice.
    if (verdict !== 'done' && (await core.find(id))?.iid !== iid) {
      core.iids.forget(iid)
      continue
    }
    log.info({ schedule: name, instanceId: id }, 'schedule triggered')
    runtime?.claimNow()
    core.announce({ kind: 'due', iids: [iid] })
    return handle(core, id, iid, undefined)
  }
  throw new Error(`trigger: schedule "${name}" keeps changing; try again`)
}

function toInfo(row: ScheduleRow): ScheduleInfo {
  const timing = JSON.parse(row.timing) as Timing
  const { name, version } = row.workflowName
  const { lastAt, lastId, error, errorAt } = row
  return {
    name: row.name,
    workflow: name,
    ...(version !== NO_VERSION && { version }),
    ...('cron' in timing ? timing : { every: timing.everyMs }),
    ...overlapOf(row),
    paused: row.paused,
    nextRuns: row.paused ? [] : nextRuns(row),
    ...(lastAt !== null && { lastRun: { at: new Date(lastAt), instanceId: lastId! } }),
    running: row.running.map(({ id }) => id),
    started: row.started,
    skipped: countOf(row.skipped, row.skippedAt),
    missed: countOf(row.missed, row.missedAt),
    ...(error !== null && { lastError: { at: new Date(errorAt!), message: error } }),
    createdAt: new Date(row.createdAt),
    updatedAt: new Date(row.updatedAt),
  }
}

/** Nothing if this process lacks the key that the schedule was stored with: the rest is plain. */
function overlapOf(row: ScheduleRow): Pick<ScheduleInfo, 'overlap' | 'catchUp'> {
  if (isWrapped(row.template)) return {}
  const { overlap, catchUpMs } = templateOf(row)
  return { overlap, catchUp: catchUpMs }
}

function countOf(count: number, at: number | null): ScheduleInfo['skipped'] {
  return { count, ...(at !== null && { last: new Date(at) }) }
}

function nextRuns(row: ScheduleRow): Date[] {
  const runs = [new Date(row.nextAt)]
  try {
    const { table } = timingOf(row)
    while (runs.length < SHOWN_RUNS) runs.push(new Date(following(table, runs.at(-1)!.getTime())))
  } catch {
    // The next would exceed the latest possible date; or this version cannot compute them, and the
    // runtime that should fire it has logged why.
  }
  return runs
}
