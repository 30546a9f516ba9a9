// Starts instances for a client.
//
// When messages already wait for an id, the start uses the number that they wait under. The store
// cannot distinguish two such starts from a single start sent twice, so the seed in the first event
// tells which of them it was.

import type { Abortable } from '../../base/sync/on-abort.ts'
import type { Verdict } from '../../store/commits.ts'
import { readEvents } from '../../store/history.ts'
import { type Iid, type InstanceRow, NO_VERSION } from '../../store/instances.ts'
import { channelOf } from '../define/channels.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import { ConflictError } from '../core/errors.ts'
import { rowKeys } from '../core/log-keys.ts'
import {
  limitKeyOf,
  type NewInstance,
  newSeed,
  startItem,
  type StartOutcome,
  unownedWorkflow,
} from '../core/start-item.ts'
import { parse } from '../../base/schema.ts'
import { terminateRows } from './admin-verbs.ts'
import type { ClientSetup } from '../core/local-runtime.ts'
import type { ClientCore, Past } from './client-core.ts'
import { resend } from '../core/resend.ts'
import { deliver, encodeMessage } from './send.ts'
import type { ResolvedStart } from '../define/start-options.ts'

// A try fails only when another process has just started or removed the same id.
const MAX_TRIES = 10

/** An instance that was started, by this call or before. */
export interface Found {
  readonly id: string
  readonly iid: Iid
}

/**
 * Starts an instance, or finds the one that has its id, depending on `onConflict`. The signal withdraws
 * a start that another transaction blocks.
 */
export async function start(
  core: ClientCore,
  given: WorkflowDefinition,
  value: unknown,
  options: ResolvedStart,
  signal?: Abortable,
): Promise<Found> {
  const { runtime } = core.setup
  await core.open()
  const prepared = await newInstance(core, given, value, options)
  const { id } = prepared
  const span = core.setup.tracer?.starting(prepared.definition.name, id)
  const wanted = span === undefined ? prepared : { ...prepared, trace: span.context }
  let unstarted: Iid | undefined
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const sent = unstarted === undefined ? wanted : { ...wanted, iid: unstarted }
    const { iid, verdict } =
      runtime === undefined
        ? await startFromClient(core, sent, signal)
        : await runtime.starts.start(sent, signal)
    const isOurs =
      verdict === 'done' && (unstarted === undefined || (await isStartedBy(core, iid, wanted)))
    if (isOurs) {
      span?.end()
      return { id, iid }
    }
    const row = await core.find(id)
    if (verdict === 'refused') {
      // Stored, and taken over by another runtime since.
      if (row?.iid === iid) {
        span?.end()
        return { id, iid }
      }
      // After a failover that lost writes, the server gave out the number twice.
      core.iids.forget(iid)
    }
    unstarted = row?.status === 'unstarted' ? row.iid : undefined
    if (row === undefined || unstarted !== undefined) continue
    // The last try must not remove an instance without starting it again.
    if (tries === MAX_TRIES) break
    if (await mayKeep(core, row, wanted, options)) return { id, iid: row.iid }
  }
  throw new ConflictError(`start: other processes keep starting and removing id "${id}"`, id)
}

/** Prepares a start: parses and encodes the input, and chooses the id and the version. */
export async function newInstance(
  core: ClientCore,
  given: WorkflowDefinition,
  value: unknown,
  options: ResolvedStart,
): Promise<NewInstance> {
  const definition = versionOf(core, given, options.version)
  const what = `workflow "${definition.name}": its input`
  const { input: schema } = definition
  const parsed = schema === undefined ? value : await parse(schema, value, what)
  const { values } = core.setup
  const id = options.id ?? core.newId()
  // The id is empty where each due time of a schedule gets one.
  const keys = (): object => ({ ...(id !== '' && { instanceId: id }), workflow: definition.name })
  const input = values.encode(parsed, what, 'inputBytes', keys)
  return {
    definition,
    isPinned: options.version !== undefined,
    id,
    input,
    seed: newSeed(core.setup.newUuid),
    trace: core.setup.tracer?.active(),
    parent: null,
    labels: options.labels,
    messages: options.send === undefined ? [] : [await firstMessage(core, id, options.send)],
    priority: options.priority,
    limitKey: limitKeyOf(definition, values, input),
    delayMs: options.delay,
    iid: undefined,
  }
}

/**
 * The definition to start: the requested version, or the latest registered here. If none is registered,
 * the first runtime that claims the instance decides.
 */
function versionOf(
  { setup }: ClientCore,
  given: WorkflowDefinition,
  version: string | undefined,
): WorkflowDefinition {
  const { registry } = setup
  const { name } = given
  if (version === undefined) return registry?.latest(name) ?? { ...given, version: NO_VERSION }
  return registry?.workflow({ name, version }) ?? { ...given, version }
}

/** The message that its inbox begins with. */
async function firstMessage(
  core: ClientCore,
  id: string,
  given: NonNullable<ResolvedStart['send']>,
): Promise<NewInstance['messages'][number]> {
  const channel = channelOf('start: send', given)
  return { name: channel.name, payload: await encodeMessage(core, id, channel, given.data) }
}

/**
 * Starts an instance from a process without a runtime. Sends it again when the answer was lost, because
 * the store recognises duplicates.
 */
async function startFromClient(
  core: ClientCore,
  wanted: NewInstance,
  signal: Abortable | undefined,
): Promise<StartOutcome> {
  const { clock } = core.setup
  const iid = wanted.iid ?? (await core.iids.take())
  const workflow = await core.workflowNumber(unownedWorkflow(wanted))
  const wakeAt = await core.momentAfter(wanted.delayMs)
  const item = startItem(wanted, { iid, workflow, at: 0, wakeAt })
  const verdict: Verdict = await resend(clock, () => core.start(item, signal))
  if (verdict === 'done') {
    core.setup.meter?.started(wanted.definition.name)
    core.announce({ kind: 'due', iids: [iid] })
  }
  return { iid, verdict }
}

async function isStartedBy(core: ClientCore, iid: Iid, { seed }: NewInstance): Promise<boolean> {
  return (await seedOf(core, iid)) === seed
}

/** The seed of the start that created an instance; `undefined` when there is none. */
export async function seedOf(past: Past, iid: Iid): Promise<string | undefined> {
  const first = await firstEventOf(past, iid)
  return first?.type === 'started' ? first.seed : undefined
}

async function firstEventOf(past: Past, iid: Iid) {
  const [turn] = await past.history(iid, 1)
  return turn === undefined ? undefined : readEvents(turn.events)[0]
}

/** Whether to return the instance that has the id; otherwise it has been removed. */
async function mayKeep(
  core: ClientCore,
  row: InstanceRow,
  wanted: NewInstance,
  options: ResolvedStart,
): Promise<boolean> {
  const { definition, id } = wanted
  checkSameWorkflow(row, definition)
  switch (options.onConflict) {
    case 'error':
      throw new ConflictError(`start: id "${id}" exists already (${row.status})`, id)
    case 'restart':
      await terminateRows(core, [row], 'restarted', 'info')
      await resend(core.setup.clock, () => core.setup.store.remove([id]))
      return false
    case 'return': {
      await warnOfInput(core.setup, core, row, wanted)
      // An instance that has ended receives nothing more.
      if (row.finishedAt === null) await deliverLetter(core, wanted, options)
      return true
    }
  }
}

/** Throws a `ConflictError` when an instance of another workflow has the id. */
export function checkSameWorkflow({ id, workflow }: InstanceRow, wanted: WorkflowDefinition): void {
  if (workflow.name === wanted.name) return
  throw new ConflictError(
    `start: id "${id}" belongs to workflow "${workflow.name}", not to "${wanted.name}"`,
    id,
  )
}

/** Logs a warning when the existing instance was started with a different input. */
export async function warnOfInput(
  { log, values }: Pick<ClientSetup, 'log' | 'values'>,
  past: Past,
  row: InstanceRow,
  { input }: NewInstance,
): Promise<void> {
  const first = await firstEventOf(past, row.iid)
  if (first?.type !== 'started' || values.isSame(first.input, input)) return
  log.warn(
    rowKeys(row),
    'start: an instance with this id already exists, with a different input; returning the existing one',
  )
}

/** Sends the letter to an instance that already existed, like any other message. */
async function deliverLetter(
  core: ClientCore,
  { id, messages }: NewInstance,
  { send: letter }: ResolvedStart,
): Promise<void> {
  const [message] = messages
  if (letter === undefined || message === undefined) return
  const { name, capacity } = channelOf('start: send', letter)
  const payload = (): Promise<string> => Promise.resolve(message.payload)
  await deliver(core, 'start', id, { channel: name, capacity, payload, dedupeKey: '', replyTo: '' })
}
