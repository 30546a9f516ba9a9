import type { ComponentChildren } from 'preact'

import { Button } from './button.tsx'
import { Modal } from './dialog.tsx'

/** A name and what is there to say; left out where it is `undefined`. */
export type Detail = readonly [name: string, value: ComponentChildren]

/** Names with values, one below the other. */
export function Details({ of }: { of: readonly Detail[] }) {
  return (
    <dl class="details">
      {of
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

/** One item of a list, whole, over the list. */
export function DetailsDialog(props: {
  title: string
  details: readonly Detail[]
  onClose: () => void
  actions?: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <Modal label={props.title} onClose={props.onClose}>
      <div class="details-dialog">
        <header class="page-head">
          <h2>{props.title}</h2>
          <Button kind="quiet" icon="close" aria-label="Close" onClick={props.onClose} />
        </header>
        <Details of={props.details} />
        {props.children}
        {props.actions && <footer>{props.actions}</footer>}
      </div>
    </Modal>
  )
}
