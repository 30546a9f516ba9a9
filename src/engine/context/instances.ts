// Workflows that a workflow starts: children, and independent instances.

import { createHash } from 'node:crypto'
import { resolveOptions } from '../../base/options.ts'
import { checkWorkflow } from '../define/check-workflow.ts'
import { type ChildOptions, childOptions, type WorkflowDefinition } from '../define/definitions.ts'
import type { CommandPromise } from '../replay/command-promise.ts'
import type { Scope } from '../replay/scope.ts'
import { NO_VERSION, type OnParentClose } from '../../store/instances.ts'
import type { StartOptions } from '../define/instance.ts'
import { START_OPTIONS } from '../define/start-options.ts'
import { channelOf, type Letter } from '../define/channels.ts'
import type { Frame } from './frame.ts'
import { mapped, remote, type SendWork } from './messages.ts'
import { runTimed } from './structure.ts'
import type { Child, WorkflowContext } from '../define/workflow-context.ts'

const MAX_PREFIX = 300

/** What the runtime needs to carry out a `child` or `start` command. */
export interface StartWork {
  readonly definition: WorkflowDefinition
  readonly onClose: OnParentClose
  readonly onConflict: 'return' | 'error'
  readonly delayMs: number
  /** A JSON object with string values. */
  readonly labels: string
  readonly priority: number
  readonly message: SendWork | undefined
}

/** Runs a workflow as a child. */
export function runChild(
  frame: Frame,
  scope: Scope,
  makeContext: (scope: Scope) => WorkflowContext,
  definition: WorkflowDefinition,
  input: unknown,
  given: ChildOptions | undefined,
): Child<unknown> {
  const options = childOptions(`ctx.run: workflow "${definition.name}"`, given)
  const { timeoutMs } = options
  // Encoded first, so that an input that cannot be stored issues no command.
  const text = frame.encode(input, `ctx.run: input of workflow "${definition.name}"`, 'inputBytes')
  if (timeoutMs === undefined) return child(frame, scope, definition, text, options)
  let inner!: Child<unknown>
  const promise = runTimed(
    frame,
    scope,
    makeContext,
    () => (inner = child(frame, scope, definition, text, options)),
    timeoutMs,
    `child workflow "${definition.name}"`,
  )
  return Object.assign(promise, remote(frame, scope, inner.id))
}

function child(
  frame: Frame,
  scope: Scope,
  definition: WorkflowDefinition,
  input: string,
  options: ReturnType<typeof childOptions>,
): Child<unknown> {
  const { name } = definition
  const id = options.id ?? instanceId(frame)
  const work: StartWork = {
    definition,
    onClose: options.onParentClose,
    onConflict: 'error',
    delayMs: 0,
    labels: '{}',
    priority: 0,
    message: undefined,
  }
  const promise = frame.give(
    scope,
    {
      type: 'child',
      command: 0,
      workflow: name,
      version: options.version ?? latestVersion(frame, definition),
      id,
      input,
      options: JSON.stringify({ onParentClose: options.onParentClose, ...ownId(options) }),
    },
    work,
  )
  return Object.assign(promise, remote(frame, scope, id))
}

/**
 * The id of an instance whose start names none. It consists of the id, execution and command number of
 * the instance that starts it, which are unique while that exists, and of its seed, which differs when
 * the same id is used again.
 */
function instanceId({ instance }: Frame): string {
  const command = instance.run.lastCommand + 1
  const recorded = instance.run.recordedIds.get(command)
  if (recorded !== undefined) return recorded
  const place = `${instance.execution}.${command}`
  return `${shortened(instance.id)}/${place}.${instance.started.seed.slice(0, 6)}`
}

/** Shortens the ids of deeply nested children: a hash replaces the end. */
function shortened(id: string): string {
  if (id.length <= MAX_PREFIX) return id
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 24)
  return `${id.slice(0, MAX_PREFIX - 50)}~${hash}`
}

function ownId({ id }: { readonly id: string | undefined }): object {
  return id === undefined ? { ownId: true } : {}
}

/** Starts an independent instance. Resolves when it is started. */
export function startInstance(
  frame: Frame,
  scope: Scope,
  workflow: unknown,
  input: unknown,
  given: StartOptions | undefined,
): CommandPromise {
  const definition = checkWorkflow('ctx.start', workflow)
  const { name } = definition
  const options = resolveOptions(`ctx.start: workflow "${name}"`, given, START_OPTIONS)
  if (options.onConflict === 'restart') {
    throw new TypeError(
      `ctx.start: workflow "${name}": onConflict must be 'return' or 'error' inside a workflow, got 'restart'`,
    )
  }
  const id = options.id ?? instanceId(frame)
  const letter = options.send
  const work: StartWork = {
    definition,
    onClose: 'independent',
    onConflict: options.onConflict,
    delayMs: options.delay,
    labels: options.labels,
    priority: options.priority,
    message: letter && sendWorkOf(letter, frame),
  }
  const promise = frame.give(
    scope,
    {
      type: 'start',
      command: 0,
      workflow: name,
      version: options.version ?? latestVersion(frame, definition),
      id,
      input: frame.encode(input, `ctx.start: input of workflow "${name}"`, 'inputBytes'),
      options: JSON.stringify({
        onConflict: options.onConflict,
        delayMs: work.delayMs,
        ...ownId(options),
      }),
    },
    work,
  )
  return mapped(promise, () => remote(frame, scope, id))
}

/** Encodes the message now, because the code may change its data later. */
function sendWorkOf(letter: Letter, frame: Frame): SendWork {
  const channel = channelOf('ctx.start: send', letter)
  const what = `ctx.start: message for channel "${channel.name}"`
  return { channel, value: frame.encode(letter.data, what, 'messageBytes') }
}

/** The latest version registered here; without one, the runtime that takes it up decides. */
function latestVersion({ host }: Frame, { name }: WorkflowDefinition): string {
  return host.registry.latest(name)?.version ?? NO_VERSION
}
