import type { RuntimesAnswer } from '../../../../src/dashboard/api.ts'
import { hrefOf } from '../../routing/router.ts'
import { Button } from '../../ui/button.tsx'
import { Chip } from '../../ui/chip.tsx'
import { Ago } from '../../ui/clock.tsx'
import { Details } from '../../ui/details.tsx'
import { Section } from '../../ui/page.tsx'
import { go } from '../../routing/router.ts'

/** What one runtime has the code of, and what it is. */
export function RuntimeDetails({ of }: { of: RuntimesAnswer['items'][number] }) {
  return (
    <Section
      title={`Runtime ${of.id}`}
      aside={
        <Button
          kind="quiet"
          icon="close"
          aria-label="Close the details"
          onClick={() => go(hrefOf(['runtimes']))}
        />
      }
    >
      <Details
        of={[
          ['Process', `${of.pid} on ${of.host}`],
          ['Holdfast', of.version],
          ['Started', of.startedAt && <Ago at={of.startedAt} />],
          [
            'Workflows',
            <Chips
              key="workflows"
              of={of.workflows.map(({ name, version }) => `${name} ${version}`.trim())}
            />,
          ],
          ['Activities', <Chips key="activities" of={of.activities} />],
          ['Tags', <Chips key="tags" of={of.tags.map((tag) => (tag === '*' ? 'any' : tag))} />],
          ['Without a tag', of.untagged ? 'runs them as well' : 'does not run them'],
        ]}
      />
    </Section>
  )
}

function Chips({ of }: { of: readonly string[] }) {
  if (of.length === 0) return <span class="faint">none</span>
  return (
    <span class="chips">
      {of.map((text) => (
        <Chip key={text} text={text} />
      ))}
    </span>
  )
}
