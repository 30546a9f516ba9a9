import { useState } from 'preact/hooks'

import type {
  BulkJob,
  BulkRequest,
  BulkVerb,
  CountAnswer,
  ReachAnswer,
} from '../../../../src/dashboard/api.ts'
import { address, get, post } from '../../api/http.ts'
import { refresh } from '../../api/live.ts'
import { formatCount, plural } from '../../format/number.ts'
import { Button } from '../../ui/button.tsx'
import { now } from '../../ui/clock.tsx'
import { ask } from '../../ui/dialog.tsx'
import { toast } from '../../ui/toast.tsx'
import { follow } from './bulk-changes.tsx'
import { apiFilter, apiQuery, type Filters, isNarrow } from './filters.ts'
import { type Verb, VERBS } from './verbs.ts'

/** Asks, and then does it. */
export function askBulk(verb: Verb, which: BulkRequest, count: number, onDone: () => void): void {
  const many = count > 20 && verb.danger === true
  const takesReason = verb.verb !== 'resume' && verb.verb !== 'delete'
  ask({
    title: `${verb.name} ${plural(count, 'instance')}?`,
    body: <p>{verb.means[count === 1 ? 0 : 1]}</p>,
    verb: verb.name,
    danger: verb.danger ?? false,
    fields: [
      ...(takesReason ? [{ name: 'reason', label: 'Reason (optional)' }] : []),
      ...(many ? [{ name: 'sure', label: `Type ${count} to go on`, mustBe: String(count) }] : []),
    ],
    async act({ reason }) {
      const job = await post<BulkJob>(`instances/${verb.verb}`, {
        ...which,
        ...(reason !== undefined && reason !== '' && { reason }),
      } satisfies BulkRequest)
      refresh()
      onDone()
      return follow(job)
    },
  })
}

/** What can be done to the selected instances, or to all that match. */
export function BulkBar(props: {
  ids: readonly string[]
  filters: Filters
  matching: CountAnswer | undefined
  onDone: () => void
}) {
  const { ids, filters, matching } = props
  const [all, setAll] = useState(false)
  const [counting, setCounting] = useState<BulkVerb>()
  const more = matching !== undefined && matching.count > ids.length
  const begin = async (verb: Verb): Promise<void> => {
    if (!all) return askBulk(verb, { ids }, ids.length, props.onDone)
    // The list is counted to 10,000, in every status: what the verb would change is another number.
    const at = now.peek()
    setCounting(verb.verb)
    try {
      const { count } = await get<ReachAnswer>(
        address('instances/reach', { ...apiQuery(filters, at), verb: verb.verb }),
      )
      if (count > 0) askBulk(verb, { filter: apiFilter(filters, at) }, count, props.onDone)
      else toast(`${verb.name}: none of the instances that match is in a status for it`)
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error))
    } finally {
      setCounting(undefined)
    }
  }
  return (
    <div class="bulk" role="region" aria-label="Selected instances">
      <strong>
        {all && matching !== undefined ? allOf(matching) : `${formatCount(ids.length)} selected`}
      </strong>
      {more && isNarrow(filters) && (
        <button type="button" class="link" onClick={() => setAll(!all)}>
          {all ? 'Only the selected' : allOf(matching)}
        </button>
      )}
      <span class="actions">
        {VERBS.map((verb) => (
          <Button
            key={verb.verb}
            icon={verb.icon}
            kind={verb.danger ? 'danger' : 'plain'}
            disabled={counting !== undefined}
            onClick={() => void begin(verb)}
          >
            {counting === verb.verb ? 'Counting…' : verb.name}
          </Button>
        ))}
        <Button kind="quiet" icon="close" aria-label="Select none" onClick={props.onDone} />
      </span>
    </div>
  )
}

function allOf({ count, isMore }: CountAnswer): string {
  return `All ${isMore ? 'of more than ' : ''}${formatCount(count)} that match`
}
