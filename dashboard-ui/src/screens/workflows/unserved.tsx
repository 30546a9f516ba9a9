import type { Unserved } from '../../../../src/index.ts'
import { formatCount } from '../../format/number.ts'
import { Chip } from '../../ui/chip.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Section } from '../../ui/page.tsx'

/** What waits for code that no live runtime has, and what would help. */
export function UnservedTable({ items }: { items: readonly Unserved[] }) {
  const title = 'Waiting for code that no runtime has'
  return (
    <Section title={title} flush>
      <DataTable
        label={title}
        rows={items}
        keyOf={({ kind, name, version, tag }) => `${kind} ${name} ${version} ${tag}`}
        columns={[
          {
            head: 'What',
            narrow: 'title',
            cell: ({ kind, name, version, tag }) => (
              <>
                <span class="faint">{kind}</span> <strong>{name}</strong>{' '}
                {version !== '' && <span class="num">{version}</span>}
                {tag !== '' && <Chip text={`tag ${tag}`} />}
              </>
            ),
          },
          {
            head: 'Why',
            kind: 'grow',
            cell: (one) => (
              <>
                <span class="break">{one.reason}</span>
                <span class="fix break">{remedy(one)}</span>
              </>
            ),
          },
          { head: 'Waiting', kind: 'end', cell: ({ waiting }) => formatCount(waiting) },
        ]}
      />
    </Section>
  )
}

/** What to do, in a sentence. */
function remedy({ kind, name, version, tag }: Unserved): string {
  if (kind === 'activity' && tag !== '')
    return `Start a runtime with tags: ['${tag}'] that has ${name}.`
  if (kind === 'activity') return `Start a runtime that registers the activity ${name}.`
  return `Start a runtime that registers ${name}${version === '' ? '' : ` ${version}`}, or cancel what waits.`
}
