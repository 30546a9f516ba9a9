import type {
  ForkRequest,
  IdAnswer,
  InstanceAnswer,
  SendRequest,
} from '../../../../src/dashboard/api.ts'
import { address, download, post } from '../../api/http.ts'
import { refresh } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { go, hrefOf } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { ask } from '../../ui/dialog.tsx'
import { toast } from '../../ui/toast.tsx'
import { askBulk } from '../instances/bulk-bar.tsx'
import { instanceHref } from '../instances/columns.tsx'
import { VERBS } from '../instances/verbs.ts'

const ENDED = ['completed', 'failed', 'cancelled', 'terminated']

/** What can be done to one instance. Only what makes sense in its status is offered. */
export function InstanceActions(props: {
  instance: InstanceAnswer['instance']
  /** The execution that is shown. */
  execution: number
  /** The event that is looked at; a fork begins after it. */
  seq: number
}) {
  const { instance, execution, seq } = props
  const { id, status } = instance
  const hasEnded = ENDED.includes(status)
  const offered = VERBS.filter(({ verb }) => {
    if (verb === 'resume') return status === 'suspended'
    if (verb === 'suspend') return !hasEnded && status !== 'suspended'
    return verb === 'delete' ? hasEnded : !hasEnded
  })
  const canChange = useCanChange()
  // An event of another execution would be taken for the one of the same number in the latest.
  const isLatest = execution === instance.execution
  return (
    <>
      <Button onClick={() => void saveExport(id, execution, isLatest)}>Export</Button>
      {canChange && !hasEnded && (
        <Button icon="send" onClick={() => askToSend(id)}>
          Send
        </Button>
      )}
      {canChange && (
        <Button
          icon="fork"
          disabled={seq < 1 || !isLatest}
          title={isLatest ? undefined : 'Only the latest execution can be forked'}
          onClick={() => askToFork(id, seq)}
        >
          Fork
        </Button>
      )}
      {canChange &&
        offered.map((verb) => (
          <Button
            key={verb.verb}
            icon={verb.icon}
            kind={verb.danger ? 'danger' : verb.verb === 'resume' ? 'primary' : 'plain'}
            onClick={() =>
              askBulk(verb, { ids: [id] }, 1, () => {
                if (verb.verb === 'delete') go(hrefOf(['instances']))
              })
            }
          >
            {verb.name}
          </Button>
        ))}
    </>
  )
}

function askToSend(id: string): void {
  ask({
    title: 'Send a message',
    body: (
      <p>The instance takes it with a receive on that channel. It is stored before this returns.</p>
    ),
    verb: 'Send',
    fields: [
      { name: 'channel', label: 'Channel' },
      { name: 'data', label: 'Data, as JSON', multiline: true, hint: 'Empty for undefined' },
    ],
    async act({ channel = '', data = '' }) {
      if (channel === '') throw new Error('Give the name of a channel')
      const parsed = parseData(data)
      await post('instance/send', {
        id,
        channel,
        ...(parsed !== undefined && { data: parsed }),
      } satisfies SendRequest)
      refresh()
      return `Sent to ${channel}`
    },
  })
}

function parseData(data: string): unknown {
  if (data.trim() === '') return undefined
  try {
    return JSON.parse(data)
  } catch (error) {
    throw new Error(`Data is not JSON: ${(error as Error).message}`, { cause: error })
  }
}

function askToFork(id: string, at: number): void {
  ask({
    title: `Fork after event ${at}`,
    body: (
      <p>
        A new instance shares the history up to event {at} and continues from there with the code of
        today. This one stays as it is.
      </p>
    ),
    verb: 'Fork',
    fields: [{ name: 'newId', label: 'Id of the new instance', hint: 'Empty for a new UUID' }],
    async act({ newId = '' }) {
      const made = await post<IdAnswer>('instance/fork', {
        id,
        at,
        ...(newId !== '' && { newId }),
      } satisfies ForkRequest)
      go(instanceHref({ id: made.id }))
      return `Forked into ${made.id}`
    },
  })
}

async function saveExport(id: string, execution: number, isLatest: boolean): Promise<void> {
  const name = `${id.replaceAll(/[^\w.-]+/g, '_')}${isLatest ? '' : `.${execution}`}.json`
  try {
    await download(address('instance/export', { id, execution }), name)
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}
