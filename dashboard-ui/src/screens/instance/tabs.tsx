import type { InstanceAnswer, OutputAnswer, TreeAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { formatAbsolute, formatDuration } from '../../format/time.ts'
import type { AsOf } from '../../timeline/as-of.ts'
import { Took } from '../../ui/clock.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Live } from '../../ui/resource.tsx'
import { StatusMark } from '../../ui/status.tsx'
import { OptionalValue, ValueView } from '../../ui/value.tsx'
import { InstanceLink } from '../instances/columns.tsx'
import { TaskTable } from '../tasks/task-table.tsx'

/** State and progress, as they were after the chosen event. */
export function StateTab({ asOf, isLatest }: { asOf: AsOf | undefined; isLatest: boolean }) {
  if (asOf === undefined) return null
  const entries = [...asOf.state]
  return (
    <div class="state">
      <section>
        <h3>{isLatest ? 'State' : `State as of event ${asOf.event.seq}`}</h3>
        {entries.length === 0 ? (
          <p class="faint">
            No values. Workflow code keeps them with <code>ctx.state.set</code>.
          </p>
        ) : (
          <dl class="fields">
            {entries.map(([key, { value, seq, at }]) => (
              <>
                <dt key={key}>
                  {key}
                  <span class="faint num" title={formatAbsolute(at)}>
                    {' '}
                    event {seq}
                  </span>
                </dt>
                <dd>
                  <ValueView value={value} />
                </dd>
              </>
            ))}
          </dl>
        )}
      </section>
      <section>
        <h3>Progress</h3>
        {asOf.progress === undefined ? (
          <p class="faint">None so far.</p>
        ) : (
          <ValueView value={asOf.progress.value} />
        )}
      </section>
      <section>
        <h3>Open commands</h3>
        {asOf.waits.length === 0 ? (
          <p class="faint">None.</p>
        ) : (
          <ul class="plain-list">
            {asOf.waits.slice(0, 50).map((span) => (
              <li key={span.command}>
                {span.kind} <code>{span.name}</code>{' '}
                <span class="faint num">for {formatDuration(asOf.event.at - span.from)}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
    </div>
  )
}

/** What went in and what came out of the whole instance. */
export function ResultTab({ id, instance }: { id: string; instance: InstanceAnswer['instance'] }) {
  return (
    <Live<OutputAnswer> path={address('instance/output', { id, values: 'full' })} what="The result">
      {({ output, progress }) => (
        <div class="state">
          <section>
            <h3>Output</h3>
            <OptionalValue
              value={output}
              none={instance.finishedAt === undefined ? 'It has not ended yet.' : 'It has none.'}
            />
          </section>
          <section>
            <h3>Progress</h3>
            <OptionalValue value={progress} none="None so far." />
          </section>
        </div>
      )}
    </Live>
  )
}

/** The whole tree that the instance belongs to. */
export function TreeTab({ id }: { id: string }) {
  return (
    <Live<TreeAnswer> path={address('instance/tree', { id })} what="The tree">
      {({ items }) => {
        if (items.length < 2) {
          return (
            <Empty title="It has no children and no parent">
              <p>
                Instances that a workflow runs with <code>ctx.run(workflow)</code> appear here.
                Those of <code>ctx.start</code> are independent.
              </p>
            </Empty>
          )
        }
        const depth = new Map<string, number>()
        return (
          <ul class="tree" aria-label="Tree">
            {items.map((item) => {
              const level = item.parentId === undefined ? 0 : (depth.get(item.parentId) ?? -1) + 1
              depth.set(item.id, level)
              return (
                <li
                  key={item.id}
                  class={item.id === id ? 'here' : ''}
                  style={{ paddingLeft: `${level * 1.25 + 1}rem` }}
                >
                  <StatusMark of={item.status} />
                  <InstanceLink id={item.id} />
                  <span class="faint">
                    {item.workflow} {item.version}
                  </span>
                  <span class="faint tree-took">
                    <Took from={item.createdAt} to={item.finishedAt} />
                  </span>
                </li>
              )
            })}
          </ul>
        )
      }}
    </Live>
  )
}

/** Activities of it that wait for a runtime or run in one. */
export function TasksTab({ tasks }: Pick<InstanceAnswer, 'tasks'>) {
  if (tasks.length > 0) return <TaskTable items={tasks} busy={false} />
  return (
    <Empty title="No activity of it is a task">
      <p>
        Its owner runs activities itself unless a tag, a session or a long retry asks for another
        runtime.
      </p>
    </Empty>
  )
}
