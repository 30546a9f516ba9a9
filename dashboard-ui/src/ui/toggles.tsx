import type { ComponentChildren } from 'preact'

/** One of a few, or none where pressing the chosen one again takes it back. */
export function Toggles<Choice extends string>(props: {
  label: string
  choices: readonly { readonly value: Choice; readonly name: ComponentChildren }[]
  chosen: Choice | undefined
  onChoose: (value: Choice) => void
}) {
  return (
    <div class="status-filter" role="group" aria-label={props.label}>
      {props.choices.map(({ value, name }) => (
        <button
          key={value}
          type="button"
          class="toggle"
          aria-pressed={props.chosen === value}
          onClick={() => props.onChoose(value)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}
