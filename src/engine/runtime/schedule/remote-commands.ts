// What workflow code asks of other instances: start them, send to them, read their state.
//
//   It is carried out after the turn that asked for it is committed, and again by the next owner
//   of the instance: the store recognises what comes twice (a start by its parent link, a
//   message by its key).
//   A store that does not answer is asked again, until the instance is gone from here.

import { resolveBackoff } from '../../../base/time/backoff.ts'
import { retry } from '../../../base/time/retry.ts'
import { toError } from '../../core/to-error.ts'
import type { Next } from '../../../store/commits.ts'
import type { CommandEvent } from '../../../store/history.ts'
import type { InboxRow, PostVerdict } from '../../../store/inbox.ts'
import {
  type Iid,
  type InstanceRow,
  NO_VERSION,
  type ParentLink,
} from '../../../store/instances.ts'
import { StoreError } from '../../../store/store-error.ts'
import { channelFull } from '../../core/channel-full.ts'
import type { LocalRuntime } from '../../core/local-runtime.ts'
import { tracedPayload } from '../../core/message-trace.ts'
import { Posts, stillLocked } from '../../core/posts.ts'
import type { StartWork } from '../../context/instances.ts'
import type { SendWork } from '../../context/messages.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import { ConflictError } from '../../core/errors.ts'
import type { LimitKeys } from '../../core/limits.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import { describeCommand } from '../../replay/describe-command.ts'
import type { IssuedCommand } from '../../replay/execution.ts'
import { parse } from '../../../base/schema.ts'
import type { Attempt } from '../../instance/open-calls.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import { CHANGED } from './eviction.ts'
import type { InstanceScheduler } from './instance-scheduler.ts'
import type { Starts } from './starts.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import type { TurnOutput } from '../../instance/turn-output.ts'
import type { IidPool } from '../../core/iid-pool.ts'
import { limitKeyOf, type NewInstance, newSeed } from '../../core/start-item.ts'

const RETRY = resolveBackoff('remote commands', { initial: 50, max: 5_000 })

/** What remote commands work with. */
export interface RemoteServices {
  readonly iids: IidPool
  readonly starts: Starts
  readonly scheduler: InstanceScheduler
  /** Counts the roll-backs, after which turns that asked for something may be lost. */
  readonly registration: { readonly rollBacks: number }
  /** Receives the instances that have mail. */
  readonly hints: Pick<LocalRuntime, 'hint'>
}

type StartEvent = Extract<CommandEvent, { type: 'child' | 'start' }>

/** A command that is being carried out. */
export class RemoteCommand implements Attempt {
  readonly kind = 'remote'
  /** Settles when it is over: done, failed, or given up. */
  readonly over: Promise<void>
  /** The runtime is closing: the next owner of the instance does it. */
  isGivenUp = false
  readonly #aborter = new AbortController()

  constructor(run: (remote: RemoteCommand) => Promise<void>) {
    this.over = run(this)
  }

  /** Whether its result is still wanted. */
  get wanted(): boolean {
    return !this.#aborter.signal.aborted
  }

  /** Aborts when its result is no longer wanted. */
  get signal(): AbortSignal {
    return this.#aborter.signal
  }

  abort(): void {
    this.#aborter.abort()
  }
}

/** Carries out what owned instances ask of others. */
export class RemoteCommands {
  readonly #core: RuntimeCore
  readonly #services: RemoteServices
  readonly #posts: Posts

  constructor(core: RuntimeCore, services: RemoteServices) {
    const { store, clock, log } = core
    const { registration, hints } = services
    const rollBacks = (): number => registration.rollBacks
    this.#core = core
    this.#services = services
    this.#posts = new Posts({ store, clock, log, runtime: hints, rollBacks })
  }

  /** Gives up what another transaction blocks: the next owners of the instances send it again. */
  close(): void {
    this.#posts.close(new StoreError('closed', 'send', 'the runtime is closed'))
  }

  /** Carries out a command. */
  start(instance: LiveInstance, given: IssuedCommand): void {
    const { command } = given.event
    const remote = new RemoteCommand(async (self) => {
      // Not before it is registered as running.
      await Promise.resolve()
      await this.#insist(instance, given, self)
      if (instance.calls.attempt(command) !== self) return
      instance.calls.end(command)
      if (self.isGivenUp) this.#services.scheduler.gaveUp(instance)
    })
    instance.calls.begin(command, remote)
  }

  async #insist(
    instance: LiveInstance,
    given: IssuedCommand,
    remote: RemoteCommand,
  ): Promise<void> {
    const { clock, log, random, values } = this.#core
    const keys = (): object => ({ ...instanceKeys(instance), call: describeCommand(given.event) })
    try {
      await retry(
        async () => {
          if (remote.wanted) await this.#carryOut(instance, given, remote)
        },
        {
          clock,
          random,
          backoff: RETRY,
          shouldRetry: (error) =>
            remote.wanted && error instanceof StoreError && error.code !== 'closed',
          onRetry: (error) =>
            log.warn({ ...keys(), err: error }, 'call of another instance failed; retrying'),
        },
      )
    } catch (error) {
      if (!remote.wanted) return
      if (error instanceof StoreError) {
        remote.isGivenUp = true
        return
      }
      // Logged here, because the code may not wait for it.
      log.warn({ ...keys(), err: toError(error) }, 'call of another instance failed')
      const { command } = given.event
      const event = { type: 'failed', command, error: values.encodeError(error) } as const
      this.#services.scheduler.arrive(instance, { event })
    }
  }

  async #carryOut(
    instance: LiveInstance,
    { event, work }: IssuedCommand,
    remote: RemoteCommand,
  ): Promise<void> {
    if (event.type === 'child' || event.type === 'start') {
      return this.#startInstance(instance, event, work as StartWork, remote)
    }
    if (event.type === 'send') return this.#send(instance, event, work as SendWork)
    if (event.type === 'read') return this.#read(instance, event)
    throw new Error(`${event.type} is not carried out by other instances`)
  }

  async #startInstance(
    instance: LiveInstance,
    event: StartEvent,
    work: StartWork,
    remote: RemoteCommand,
  ): Promise<void> {
    const { store, registry, newUuid, tracer } = this.#core
    const { starts, iids, scheduler, hints } = this.#services
    const { iid: parentIid, id: parentId, execution } = instance
    const { type, command, id, version, workflow: name } = event
    const { onClose, onConflict, delayMs, labels, priority } = work
    const parent: ParentLink = { iid: parentIid, id: parentId, execution, command, onClose }
    const what = `workflow "${name}": its input`
    const keys = (): object => instanceKeys(instance)
    const input = await this.#input(work.definition, event.input, what, keys)
    const span = tracer?.starting(name, id, instance)
    const definition = registry.workflow({ name, version }) ?? { ...work.definition, version }
    const wanted: NewInstance = {
      definition,
      isPinned: version !== NO_VERSION,
      id,
      input,
      seed: newSeed(newUuid),
      trace: span?.context,
      parent,
      labels,
      messages: await this.#firstMessages(instance, work),
      priority,
      limitKey: limitKeyOf(definition, this.#core.values, input),
      delayMs,
      iid: undefined,
    }
    let unstarted: Iid | undefined
    while (remote.wanted) {
      const { iid, verdict } = await starts.start({ ...wanted, iid: unstarted }, remote.signal)
      if (verdict === 'done') span?.end()
      if (verdict === 'done' && unstarted === undefined) return this.#found(instance, event, iid)
      const [row] = await store.find([id])
      if (verdict === 'refused' && unstarted === undefined && (await this.#isTaken(iid, id))) {
        iids.forget(iid)
        continue
      }
      if (verdict === 'refused' && (row === undefined || row.status === 'unstarted')) {
        // Another runtime owns the parent by now, and decides what becomes of its commands. Unless the
        // command was dropped: then the parent may be released, or even be claimed here again.
        if (remote.wanted) scheduler.eviction.supersede(instance, CHANGED)
        return
      }
      // It was removed just now.
      if (row === undefined) continue
      if (isSameParent(row.parent, parent)) return this.#found(instance, event, row.iid)
      unstarted = row.status === 'unstarted' ? row.iid : undefined
      if (unstarted !== undefined) continue
      if (onConflict === 'return' && row.workflow.name === name) {
        await this.#post(instance, event, wanted.messages)
        return this.#found(instance, event, row.iid)
      }
      if (type === 'child' && (await this.#hasResult(instance, command))) {
        return hints.hint([{ iid: parentIid, owner: null }])
      }
      throw conflict(event, row)
    }
  }

  /** Whether a number is another instance's: a server that lost its latest writes gave it out again. */
  async #isTaken(iid: Iid, id: string): Promise<boolean> {
    const [row] = await this.#core.store.look([iid])
    return row !== undefined && row.id !== id
  }

  /** Whether a child has ended, although another instance has its id by now. */
  async #hasResult({ iid, turn, execution }: LiveInstance, command: number): Promise<boolean> {
    const [loaded] = await this.#core.store.load([{ iid, after: turn }])
    const isResult = (row: InboxRow): boolean =>
      row.execution === execution && row.command === command
    return loaded?.inbox.some(isResult) ?? false
  }

  /** The input as the schema of the workflow parses it. */
  async #input(
    { input: schema }: WorkflowDefinition,
    text: string,
    what: string,
    keys: LimitKeys,
  ): Promise<string> {
    if (schema === undefined) return text
    const { values } = this.#core
    return values.encode(await parse(schema, values.value(text), what), what, 'inputBytes', keys)
  }

  #found(instance: LiveInstance, { type, command }: StartEvent, iid: Iid): void {
    if (type === 'child') this.#services.scheduler.childStarted(instance, command, iid)
    else this.#completed(instance, command, this.#core.values.encode(undefined, 'start'))
  }

  async #firstMessages(
    instance: LiveInstance,
    { message }: StartWork,
  ): Promise<NewInstance['messages']> {
    if (message === undefined) return []
    return [{ name: message.channel.name, payload: await this.#encode(instance, message) }]
  }

  /** Sends the message of a start to the instance that already existed. */
  async #post(
    instance: LiveInstance,
    { id, command }: StartEvent,
    messages: NewInstance['messages'],
  ): Promise<void> {
    for (const { name, payload } of messages) {
      await this.#postOne(instance, id, async () => payload, {
        name,
        capacity: null,
        key: keyOf(instance, command),
      })
    }
  }

  async #send(
    instance: LiveInstance,
    { id, name, capacity, command }: Extract<CommandEvent, { type: 'send' }>,
    work: SendWork,
  ): Promise<void> {
    const key = keyOf(instance, command)
    const verdict = await this.#postOne(instance, id, () => this.#encode(instance, work), {
      name,
      capacity,
      key,
    })
    switch (verdict) {
      case 'sent':
      case 'duplicate':
        return this.#completed(instance, command, this.#core.values.encode(undefined, 'send'))
      case 'full': {
        const [row] = await this.#core.store.find([id])
        throw channelFull('send', { id, channel: name, capacity }, row)
      }
      case 'ended':
      case 'unknown':
        throw new ConflictError(`send: instance "${id}" has ended`, id)
      case 'locked':
      case 'untried':
        throw stillLocked('send', id)
    }
  }

  async #postOne(
    instance: LiveInstance,
    id: string,
    payload: () => Promise<string>,
    { name, capacity, key }: { name: string; capacity: number | null; key: string },
  ): Promise<PostVerdict> {
    const span = this.#core.tracer?.sending(name, id, instance)
    const { verdict } = await this.#posts.post(id, async () => ({
      id,
      kind: 'message',
      name,
      payload: tracedPayload(await payload(), span?.context),
      replyTo: '',
      dedupeKey: key,
      capacity,
      iid: await this.#services.iids.take(),
    }))
    if (verdict === 'sent' || verdict === 'duplicate') span?.end()
    return verdict
  }

  /** The message as the schema of its channel parses it. */
  async #encode(instance: LiveInstance, { channel, value }: SendWork): Promise<string> {
    const { values } = this.#core
    if (channel.schema === undefined) return value
    const what = `channel "${channel.name}": the message`
    const parsed = await parse(channel.schema, values.value(value), what)
    return values.encode(parsed, what, 'messageBytes', () => instanceKeys(instance))
  }

  async #read(
    instance: LiveInstance,
    { id, key, command }: Extract<CommandEvent, { type: 'read' }>,
  ): Promise<void> {
    const [value] = await this.#core.store.readState([{ id, key }])
    const text = value ?? this.#core.values.encode(undefined, 'readState')
    this.#completed(instance, command, text)
  }

  /** The command has its result, encoded. */
  #completed(instance: LiveInstance, command: number, value: string): void {
    this.#services.scheduler.arrive(instance, { event: { type: 'completed', command, value } })
  }
}

/** The next owner sends a message again under the same key, and the store recognises it. */
function keyOf({ iid, execution }: LiveInstance, command: number): string {
  return `holdfast:${iid}.${execution}.${command}`
}

function isSameParent(a: ParentLink | null, b: ParentLink): boolean {
  return a?.iid === b.iid && a.execution === b.execution && a.command === b.command
}

function conflict({ type, id, workflow }: StartEvent, row: InstanceRow): ConflictError {
  const call = type === 'child' ? 'ctx.run' : 'ctx.start'
  return new ConflictError(
    `${call}: workflow "${workflow}": id "${id}" is taken by an instance of workflow ` +
      `"${row.workflow.name}" (${row.status})`,
    id,
  )
}

const NONE: Promise<void>[] = []

/** Children among what this item closes whose start is still under way. */
export function unsettledStarts(
  instance: LiveInstance,
  next: Next,
  { dropped }: TurnOutput,
): Promise<void>[] {
  if (dropped.length === 0 && (next.kind !== 'end' || instance.calls.isIdle)) return NONE
  const commands = next.kind === 'end' ? instance.calls.running : dropped
  const starting: Promise<void>[] = []
  for (const command of commands) {
    const remote = instance.calls.attempt(command)
    if (!(remote instanceof RemoteCommand) || !instance.run.isChild(command)) continue
    remote.abort()
    starting.push(remote.over)
  }
  return starting
}
