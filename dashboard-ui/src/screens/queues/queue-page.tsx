import type { QueueAnswer, QueueRequest, ReachedAnswer } from '../../../../src/dashboard/api.ts'
import { address, post } from '../../api/http.ts'
import { refresh, useLive } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { formatCount, plural } from '../../format/number.ts'
import { place, setQuery } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { ask } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/notice.tsx'
import { Back, Figure, Page, Section } from '../../ui/page.tsx'
import { Paging } from '../../ui/paging.tsx'
import { Live } from '../../ui/resource.tsx'
import { useSelection } from '../../ui/selection.ts'
import { Toggles } from '../../ui/toggles.tsx'
import { MessageDialog, MessageTable } from './messages.tsx'

/** The dead letters of a queue, or all that it has. */
export function QueuePage({ name }: { name: string }) {
  const { query } = place.value
  const dead = query.get('show') !== 'all'
  const after = query.get('after') ?? undefined
  const path = address('queue', { name, dead: dead ? 'true' : undefined, limit: 100, after })
  const { data } = useLive<QueueAnswer>(path)
  const canChange = useCanChange() && dead
  const selected = useSelection(data?.items.map(({ id }) => String(id)) ?? [], `${name} ${dead}`)
  const open = data?.items.find(({ id }) => String(id) === query.get('message'))
  return (
    <Page
      title={name}
      before={<Back to="queues">Queues</Back>}
      about="A durable queue on the disk of this process"
    >
      <Live<QueueAnswer> path={path} what={`The queue ${name}`}>
        {({ counts, items, next }, busy) => (
          <>
            <Figures {...counts} />
            <Section
              title={dead ? 'Dead letters' : 'Messages'}
              flush
              aside={
                <>
                  <Toggles
                    label="Messages"
                    choices={[
                      { value: 'dead', name: 'dead letters' },
                      { value: 'all', name: 'all messages' },
                    ]}
                    chosen={dead ? 'dead' : 'all'}
                    onChoose={show}
                  />
                  {canChange && items.length > 0 && (
                    <Actions name={name} keys={selected.keys} onDone={selected.clear} />
                  )}
                </>
              }
            >
              {items.length === 0 ? (
                <NoMessages dead={dead} />
              ) : (
                <>
                  <MessageTable
                    items={items}
                    busy={busy}
                    selection={canChange ? selected.selection : undefined}
                  />
                  <Paging next={next} shown={`${plural(items.length, 'message')}, in order`} />
                </>
              )}
            </Section>
          </>
        )}
      </Live>
      {open && (
        <MessageDialog
          message={open}
          onClose={close}
          actions={canChange && <Actions name={name} keys={[String(open.id)]} onDone={close} />}
        />
      )}
    </Page>
  )
}

function show(which: 'dead' | 'all'): void {
  setQuery((to) => {
    to.delete('after')
    if (which === 'dead') to.delete('show')
    else to.set('show', 'all')
  })
}

function close(): void {
  setQuery((to) => to.delete('message'), 'replace')
}

function Figures({ ready, inFlight, delayed, dead, total }: QueueAnswer['counts']) {
  return (
    <dl class="figures">
      <Figure name="Ready" value={formatCount(ready)} note="can be taken now" />
      <Figure name="In flight" value={formatCount(inFlight)} note="leased to a consumer" />
      <Figure name="Delayed" value={formatCount(delayed)} note="or behind another of their key" />
      <Figure
        name="Dead"
        value={formatCount(dead)}
        note="failed too often, or unreadable"
        {...(dead > 0 && { tone: 'failed' })}
      />
      <Figure name="Total" value={formatCount(total)} />
    </dl>
  )
}

function NoMessages({ dead }: { dead: boolean }) {
  if (!dead) {
    return (
      <Empty title="The queue is empty">
        <pre>{`await queue.push({ to: 'ada@example.org' })`}</pre>
      </Empty>
    )
  }
  return (
    <Empty title="No dead letters">
      <p>Messages that fail too often stay here instead of being delivered for ever:</p>
      <pre>{`const queue = await openQueue('emails.db', { maxAttempts: 5 })`}</pre>
    </Empty>
  )
}

function Actions(props: { name: string; keys: readonly string[]; onDone: () => void }) {
  const { name, keys } = props
  const isNone = keys.length === 0
  const askTo = (verb: 'retry' | 'discard', title: string, means: string): void =>
    ask({
      title: `${title} ${plural(keys.length, 'dead letter')}?`,
      body: <p>{means}</p>,
      verb: title,
      danger: verb === 'discard',
      async act() {
        const ids = keys.map(Number)
        const { count } = await post<ReachedAnswer>(`queue/${verb}`, {
          name,
          ids,
        } satisfies QueueRequest)
        props.onDone()
        refresh()
        return `${title}: ${plural(count, 'message')}`
      },
    })
  return (
    <>
      <Button
        disabled={isNone}
        title={isNone ? 'Select some first' : ''}
        onClick={() => askTo('retry', 'Retry', 'They are ready again, with their attempts reset.')}
      >
        Retry{!isNone && ` ${keys.length}`}
      </Button>
      <Button
        kind="danger"
        icon="trash"
        disabled={isNone}
        title={isNone ? 'Select some first' : ''}
        onClick={() => askTo('discard', 'Discard', 'They are removed for good.')}
      >
        Discard{!isNone && ` ${keys.length}`}
      </Button>
    </>
  )
}
