import { useEffect } from 'preact/hooks'

import type { BulkJob, BulksAnswer, JobRequest } from '../../../../src/dashboard/api.ts'
import { post } from '../../api/http.ts'
import { refresh, useLive } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { formatCount, plural } from '../../format/number.ts'
import { Button } from '../../ui/button.tsx'
import { toast } from '../../ui/toast.tsx'
import { outcomeOf } from './outcome.ts'
import { VERBS } from './verbs.ts'

/** Those whose outcome is said when they end. */
const followed = new Set<string>()

/** The outcome of a change, if it has ended; otherwise it is said later, wherever the reader is then. */
export function follow(job: BulkJob): string | undefined {
  if (job.state === 'running') followed.add(job.job)
  else followed.delete(job.job)
  return job.state === 'running' ? undefined : outcomeOf(job)
}

/** The changes of many instances that are running, above whatever screen is shown. */
export function BulkChanges() {
  const { data } = useLive<BulksAnswer>('bulks')
  const canChange = useCanChange()
  useEffect(() => {
    for (const job of data?.items ?? []) {
      const ended = followed.has(job.job)
      const said = follow(job)
      if (said === undefined || !ended) continue
      toast(said)
      refresh()
    }
  }, [data])
  const running = data?.items.filter(({ state }) => state === 'running') ?? []
  if (running.length === 0) return null
  return (
    <section class="bulk-changes" aria-label="Running changes">
      {running.map(({ job, verb, seen, total }) => (
        <div key={job} class="bulk-progress">
          <strong>{VERBS.find((one) => one.verb === verb)?.name}</strong>
          <progress value={seen} max={total ?? seen + 1} aria-label="Progress" />
          {total === undefined
            ? 'Counting…'
            : `${formatCount(seen)} of ${plural(total, 'instance')}`}
          {canChange && <Button onClick={() => void stop(job)}>Stop</Button>}
        </div>
      ))}
    </section>
  )
}

async function stop(job: string): Promise<void> {
  try {
    await post('bulk/stop', { job } satisfies JobRequest)
    refresh()
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}
