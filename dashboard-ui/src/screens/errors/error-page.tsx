import type { ErrorAnswer } from '../../../../src/dashboard/api.ts'
import { address } from '../../api/http.ts'
import { useLive } from '../../api/live.ts'
import { useCanChange } from '../../api/meta.ts'
import { formatCount, plural } from '../../format/number.ts'
import { hrefOf } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { Ago } from '../../ui/clock.tsx'
import { DataTable, type Selection } from '../../ui/data-table.tsx'
import { Back, Figure, Page, Section } from '../../ui/page.tsx'
import { Live } from '../../ui/resource.tsx'
import { useSelection } from '../../ui/selection.ts'
import { BulkBar } from '../instances/bulk-bar.tsx'
import { INSTANCE_COLUMNS, instanceHref } from '../instances/columns.tsx'
import { readFilters } from '../instances/filters.ts'
import { whatWentWrong } from './message.ts'

const ALL = readFilters(new URLSearchParams())

/** One error with the instances behind it. */
export function ErrorPage({ fingerprint }: { fingerprint: string }) {
  const path = address('error', { fingerprint })
  const { data } = useLive<ErrorAnswer>(path)
  const canChange = useCanChange()
  const selected = useSelection(data?.instances.map(({ id }) => id) ?? [], fingerprint)
  return (
    <Page
      title={data?.group.name ?? 'Error'}
      about={data && <span class="break">{whatWentWrong(data.group)}</span>}
      before={<Back to="errors">Errors</Back>}
      actions={
        canChange &&
        data && (
          <Button onClick={() => selected.select(data.ids)}>
            Select {data.ids.length === 1 ? 'the instance' : `all ${formatCount(data.ids.length)}`}
          </Button>
        )
      }
    >
      <Live<ErrorAnswer> path={path} what="This error">
        {(answer, busy) => (
          <ErrorParts
            {...answer}
            busy={busy}
            selection={canChange ? selected.selection : undefined}
          />
        )}
      </Live>
      {canChange && selected.keys.length > 0 && (
        <BulkBar ids={selected.keys} filters={ALL} matching={undefined} onDone={selected.clear} />
      )}
    </Page>
  )
}

function ErrorParts(props: ErrorAnswer & { busy: boolean; selection: Selection | undefined }) {
  const { group, ids, instances, busy, selection } = props
  return (
    <>
      <dl class="figures">
        <Figure name="Instances" value={formatCount(group.count)} tone="failed" />
        <Figure
          name="Suspended"
          value={formatCount(group.suspended)}
          note={group.suspended > 0 ? 'can be resumed' : 'none can be resumed'}
          {...(group.suspended > 0 && { tone: 'suspended' })}
        />
        <Figure
          name="Workflow"
          value={group.workflow}
          note={
            <a class="plain" href={unsuccessful(group.workflow)}>
              All that failed or are suspended
            </a>
          }
        />
        <Figure name="First" value={<Ago at={group.firstAt} />} />
        <Figure name="Latest" value={<Ago at={group.lastAt} />} />
      </dl>
      <Section
        title="Instances"
        flush
        aside={
          instances.length < ids.length
            ? `the latest ${instances.length} of ${formatCount(ids.length)}`
            : plural(ids.length, 'instance')
        }
      >
        <DataTable
          label="Instances"
          columns={INSTANCE_COLUMNS}
          rows={instances}
          keyOf={({ id }) => id}
          hrefOf={instanceHref}
          busy={busy}
          selection={selection}
        />
      </Section>
    </>
  )
}

function unsuccessful(workflow: string): string {
  const query = new URLSearchParams({ workflow })
  for (const status of ['suspended', 'failed']) query.append('status', status)
  return hrefOf(['instances'], query)
}
