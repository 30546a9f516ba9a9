import type { InstanceAnswer } from '../../../../src/dashboard/api.ts'
import { formatBytes, formatCount, plural } from '../../format/number.ts'
import { hrefOf } from '../../routing/router.ts'
import { Ago, Took } from '../../ui/clock.tsx'
import { reasonOfPause } from '../errors/message.ts'
import { InstanceLink } from '../instances/columns.tsx'

/** What is known about an instance, in a line of small figures. */
export function Facts({ instance, usage }: InstanceAnswer) {
  const labels = Object.entries(instance.labels)
  return (
    <dl class="facts">
      <div>
        <dt>Workflow</dt>
        <dd>
          <a href={hrefOf(['instances'], new URLSearchParams({ workflow: instance.workflow }))}>
            {instance.workflow}
          </a>{' '}
          <span class="faint">{instance.version}</span>
        </dd>
      </div>
      <div>
        <dt>Created</dt>
        <dd>
          <Ago at={instance.createdAt} />
        </dd>
      </div>
      <div>
        <dt>{instance.finishedAt === undefined ? 'Running for' : 'Took'}</dt>
        <dd>
          <Took from={instance.createdAt} to={instance.finishedAt} />
        </dd>
      </div>
      {instance.parentId !== undefined && (
        <div>
          <dt>Parent</dt>
          <dd>
            <InstanceLink id={instance.parentId} />
          </dd>
        </div>
      )}
      <div>
        <dt>History</dt>
        <dd>
          {plural(usage.events, 'event')}{' '}
          <span class="faint">{formatBytes(usage.historyBytes)}</span>
        </dd>
      </div>
      {usage.messages > 0 && (
        <div>
          <dt>Messages waiting</dt>
          <dd>{formatCount(usage.messages)}</dd>
        </div>
      )}
      {labels.length > 0 && (
        <div>
          <dt>Labels</dt>
          <dd class="chips">
            {labels.map(([name, value]) => (
              <a
                key={name}
                class="chip"
                href={hrefOf(['instances'], new URLSearchParams({ label: `${name}=${value}` }))}
              >
                {name}={value}
              </a>
            ))}
          </dd>
        </div>
      )}
    </dl>
  )
}

/** Why it is not further: its error, or what it waits for. */
export function Matters({ instance }: Pick<InstanceAnswer, 'instance'>) {
  const { status, error, waitingFor } = instance
  const isSuspended = status === 'suspended'
  const reason = isSuspended && error !== undefined ? reasonOfPause(error) : undefined
  return (
    <>
      {error !== undefined && (
        <section
          class={`matter ${isSuspended ? 'tone-suspended' : 'tone-failed'}`}
          aria-label={reason === undefined ? 'Error' : 'Suspended'}
        >
          <h2>{reason === undefined ? error.name : 'Suspended'}</h2>
          <p class="break mono">{reason ?? error.message}</p>
          {isSuspended && (
            <p class="faint">
              It keeps its history and its messages.{' '}
              {reason === undefined
                ? 'Fix the cause, then resume it.'
                : 'Resume it when it may go on.'}
            </p>
          )}
        </section>
      )}
      {waitingFor.length > 0 && (
        <section class="matter tone-waiting" aria-label="Waits for">
          <h2>Waits for</h2>
          <ul>
            {waitingFor.slice(0, 8).map((text) => (
              <li key={text} class="break">
                {text}
              </li>
            ))}
            {waitingFor.length > 8 && <li class="faint">and {waitingFor.length - 8} more</li>}
          </ul>
        </section>
      )}
    </>
  )
}
