import { registerErrorClass } from '../../base/errors.ts'

/** An activity or step failed and is not retried any more. The error it threw is the `cause`. */
export class ActivityError extends Error {
  static {
    registerErrorClass('ActivityError', ActivityError, ['activity', 'attempts', 'originalName'])
  }

  readonly activity: string
  readonly attempts: number
  /** The `name` of the error that the activity threw. */
  readonly originalName: string

  constructor(
    message: string,
    fields: { activity: string; attempts: number; originalName: string },
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.activity = fields.activity
    this.attempts = fields.attempts
    this.originalName = fields.originalName
  }
}

/** A workflow failed. The error it threw is the `cause`. */
export class WorkflowError extends Error {
  static {
    registerErrorClass('WorkflowError', WorkflowError, ['instanceId', 'workflow', 'originalName'])
  }

  readonly instanceId: string
  readonly workflow: string
  /** The `name` of the error that the workflow threw. */
  readonly originalName: string

  constructor(
    message: string,
    fields: { instanceId: string; workflow: string; originalName: string },
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.instanceId = fields.instanceId
    this.workflow = fields.workflow
    this.originalName = fields.originalName
  }
}

/** The error of `result()` for a terminated instance. */
export function terminatedError(id: string, workflow: string, reason: string): WorkflowError {
  const why = reason === '' ? '' : `: ${reason}`
  return new WorkflowError(`workflow "${workflow}" was terminated${why}`, {
    instanceId: id,
    workflow,
    originalName: 'TerminatedError',
  })
}

/**
 * The call does not fit the instance that has this id: the id is taken, belongs to another workflow, or
 * the instance has ended.
 */
export class ConflictError extends Error {
  static {
    registerErrorClass('ConflictError', ConflictError, ['instanceId'])
  }

  readonly instanceId: string

  constructor(message: string, instanceId: string) {
    super(message)
    this.instanceId = instanceId
  }
}

/**
 * No instance has this id: it was never started, or it has been removed. For schedules, `instanceId` is
 * the name that no schedule has.
 */
export class NotFoundError extends Error {
  static {
    registerErrorClass('NotFoundError', NotFoundError, ['instanceId'])
  }

  readonly instanceId: string

  constructor(message: string, instanceId: string) {
    super(message)
    this.instanceId = instanceId
  }
}

/** The channel is full, so the message was not sent. Try again once the workflow has received some. */
export class ChannelFullError extends Error {
  static {
    registerErrorClass('ChannelFullError', ChannelFullError, ['channel', 'capacity', 'instanceId'])
  }

  readonly channel: string
  readonly capacity: number
  readonly instanceId: string

  constructor(
    message: string,
    fields: { channel: string; capacity: number; instanceId: string },
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.channel = fields.channel
    this.capacity = fields.capacity
    this.instanceId = fields.instanceId
  }
}
