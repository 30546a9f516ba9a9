import type {
  ApiDeadLetter,
  DeadLettersAnswer,
  DiscardRequest,
  ReachedAnswer,
  RequeueRequest,
} from '../../../../src/dashboard/api.ts'
import { address, post } from '../../api/http.ts'
import { refresh, useLive } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { plural } from '../../format/number.ts'
import { place, setQuery } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { ask } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Section } from '../../ui/page.tsx'
import { Paging } from '../../ui/paging.tsx'
import { Live } from '../../ui/resource.tsx'
import { useSelection } from '../../ui/selection.ts'
import { Toggles } from '../../ui/toggles.tsx'
import { LetterDialog, LetterTable } from './letters.tsx'

const STATES = ['pending', 'reprocessing', 'resolved', 'discarded'] as const
type State = (typeof STATES)[number]

/** Messages that are not delivered any more, and what can be done about them. */
export function DeadLetters({ topic }: { topic: string | undefined }) {
  const { query } = place.value
  const state = STATES.find((one) => one === query.get('state')) ?? 'pending'
  const after = query.get('after') ?? undefined
  const path = address('outbox/dead-letters', { topic, status: state, limit: 100, after })
  const { data } = useLive<DeadLettersAnswer>(path)
  const canChange = useCanChange() && state === 'pending'
  const selected = useSelection(data?.items.map(({ id }) => id) ?? [], `${topic} ${state}`)
  const open = data?.items.find(({ id }) => id === query.get('letter'))
  return (
    <>
      <Section
        title="Dead letters"
        flush
        aside={
          <>
            <Toggles
              label="State"
              choices={STATES.map((value) => ({ value, name: value }))}
              chosen={state}
              onChoose={show}
            />
            {canChange && (data?.items.length ?? 0) > 0 && (
              <Actions ids={selected.keys} topic={topic} onDone={selected.clear} />
            )}
          </>
        }
      >
        <Live<DeadLettersAnswer> path={path} what="Dead letters">
          {({ items, next }, busy) =>
            items.length === 0 ? (
              <NoLetters state={state} />
            ) : (
              <>
                <LetterTable
                  items={items}
                  busy={busy}
                  selection={canChange ? selected.selection : undefined}
                />
                <Paging
                  next={next}
                  shown={`${plural(items.length, 'dead letter')}, newest first`}
                />
              </>
            )
          }
        </Live>
      </Section>
      {open && (
        <LetterDialog
          letter={open}
          onClose={close}
          actions={canChange && <RequeueButton ids={[open.id]} onDone={close} />}
        />
      )}
    </>
  )
}

function show(state: State): void {
  setQuery((to) => {
    to.delete('after')
    if (state === 'pending') to.delete('state')
    else to.set('state', state)
  })
}

function close(): void {
  setQuery((to) => to.delete('letter'), 'replace')
}

function NoLetters({ state }: { state: State }) {
  return (
    <Empty title={`No ${state} dead letters`}>
      <p>
        Messages that a handler rejects, or that fail too often, are kept here instead of being
        lost. Messages behind them go on.
      </p>
      <pre>{`if (answer.status === 422) ctx.reject(\`the receiver answered \${answer.status}\`)`}</pre>
    </Empty>
  )
}

function Actions(props: {
  ids: readonly ApiDeadLetter['id'][]
  topic: string | undefined
  onDone: () => void
}) {
  return (
    <>
      <RequeueButton ids={props.ids} onDone={props.onDone} />
      <Button kind="danger" icon="trash" onClick={() => askToDiscard(props.topic)}>
        Discard all
      </Button>
    </>
  )
}

function RequeueButton({ ids, onDone }: { ids: readonly string[]; onDone: () => void }) {
  return (
    <Button
      disabled={ids.length === 0}
      title={ids.length === 0 ? 'Select some first' : ''}
      onClick={() =>
        ask({
          title: `Requeue ${plural(ids.length, 'dead letter')}?`,
          body: (
            <p>They go back into their topics, behind all other messages, with new attempts.</p>
          ),
          verb: 'Requeue',
          async act() {
            const { count } = await post<ReachedAnswer>('outbox/requeue', {
              ids,
            } satisfies RequeueRequest)
            onDone()
            refresh()
            return `Requeued ${plural(count, 'dead letter')}`
          },
        })
      }
    >
      Requeue{ids.length > 0 && ` ${ids.length}`}
    </Button>
  )
}

function askToDiscard(topic: string | undefined): void {
  ask({
    title: `Discard all pending dead letters of ${topic === undefined ? 'all topics' : topic}?`,
    body: <p>They are not delivered any more. They stay for a while, marked as discarded.</p>,
    verb: 'Discard',
    danger: true,
    fields: [{ name: 'sure', label: 'Type discard to go on', mustBe: 'discard' }],
    async act() {
      const which = topic === undefined ? { all: true } : { topic }
      const { count } = await post<ReachedAnswer>('outbox/discard', which satisfies DiscardRequest)
      refresh()
      return `Discarded ${plural(count, 'dead letter')}`
    },
  })
}
