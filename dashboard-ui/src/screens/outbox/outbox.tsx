import type { OutboxAnswer } from '../../../../src/dashboard/api.ts'
import { useMeta } from '../../api/meta.ts'
import { formatCount, plural } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'
import { place } from '../../routing/router.ts'
import { Empty } from '../../ui/notice.tsx'
import { Back, Figure, Page } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { DeadLetters } from './dead-letters.tsx'
import { PartitionTable, TopicTable } from './topic-tables.tsx'
import { topicsOf, totalsOf } from './topics.ts'

/** Messages on their way: how many wait in each topic, for how long, and those that are not delivered. */
export function OutboxScreen() {
  const topic = place.value.query.get('topic') ?? undefined
  const meta = useMeta()
  return (
    <Page
      title={topic ?? 'Outbox'}
      about={
        topic === undefined
          ? 'Messages that were enqueued in transactions, until they are delivered'
          : 'A topic of the outbox'
      }
      before={topic !== undefined && <Back to="outbox">Outbox</Back>}
    >
      {meta?.hasOutbox === false ? (
        <NoOutbox />
      ) : (
        <>
          <Live<OutboxAnswer> path="outbox" what="The outbox">
            {(answer, busy) => <Topics answer={answer} topic={topic} busy={busy} />}
          </Live>
          {meta && <DeadLetters key={topic} topic={topic} />}
        </>
      )}
    </Page>
  )
}

function NoOutbox() {
  return (
    <Empty title="This dashboard was given no outbox">
      <p>
        An outbox delivers what your transactions enqueue, in order and at least once. Give yours to
        the dashboard:
      </p>
      <pre>{`const events = outbox(holdfast)
const { url } = await dashboard(holdfast, { outbox: events }).listen()`}</pre>
    </Empty>
  )
}

function Topics(props: { answer: OutboxAnswer; topic: string | undefined; busy: boolean }) {
  const all = topicsOf(props.answer)
  const rows = props.topic === undefined ? all : all.filter(({ topic }) => topic === props.topic)
  const { depth, lag, oldestMs } = totalsOf(rows)
  const dead = rows.reduce((sum, row) => sum + row.dead, 0)
  if (all.length === 0) {
    return (
      <Empty title="The outbox has no topics yet">
        <p>A topic appears with its first message, which is part of your own transaction:</p>
        <pre>{`const placed = topic<{ orderId: string }>('order-placed')
await events.in(tx).enqueue(placed, { orderId }, { key: orderId })`}</pre>
      </Empty>
    )
  }
  return (
    <>
      <dl class="figures">
        <Figure name="Not delivered" value={formatCount(depth)} note="whatever they wait for" />
        <Figure
          name="Lag"
          value={formatCount(lag)}
          note={lag === 1 ? 'message could be delivered now' : 'messages could be delivered now'}
        />
        <Figure
          name="Oldest"
          value={depth === 0 ? '–' : formatDuration(oldestMs)}
          note={depth === 0 ? 'everything is delivered' : 'since it was enqueued'}
        />
        <Figure
          name="Dead letters"
          value={formatCount(dead)}
          note={
            dead === 0 ? 'none' : `in ${plural(rows.filter((row) => row.dead > 0).length, 'topic')}`
          }
          {...(dead > 0 && { tone: 'failed' })}
        />
      </dl>
      {props.topic === undefined ? (
        <TopicTable rows={rows} busy={props.busy} />
      ) : (
        <PartitionTable rows={rows[0]?.partitions ?? []} busy={props.busy} />
      )}
    </>
  )
}
