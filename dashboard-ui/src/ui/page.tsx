import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'

import { hrefOf } from '../routing/router.ts'
import { Icon } from './icon.tsx'

/** The frame of a screen: its title, a line about it, and what can be done there. */
export function Page(props: {
  title: string
  about?: ComponentChildren
  actions?: ComponentChildren
  wide?: boolean
  /** The way back, over the title. */
  before?: ComponentChildren
  children: ComponentChildren
}) {
  useEffect(() => {
    document.title = `${props.title} · Holdfast`
  }, [props.title])
  return (
    <div class={`page ${props.wide ? 'wide' : ''}`}>
      <header class="page-head">
        <div>
          {props.before}
          <h1>{props.title}</h1>
          {props.about && <p class="about">{props.about}</p>}
        </div>
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </div>
  )
}

/** From one item of a list back to the list. */
export function Back({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <a class="way-back" href={hrefOf([to])}>
      <Icon name="back" />
      {children}
    </a>
  )
}

/** A part of a screen with a heading. */
export function Section(props: {
  title: string
  aside?: ComponentChildren
  flush?: boolean
  children: ComponentChildren
}) {
  return (
    <section class={`card ${props.flush ? 'flush' : ''}`} aria-label={props.title}>
      <header class="card-head">
        <h2>{props.title}</h2>
        {props.aside && <div class="aside">{props.aside}</div>}
      </header>
      {props.children}
    </section>
  )
}

/** A figure with its name. */
export function Figure(props: {
  name: string
  value: ComponentChildren
  note?: ComponentChildren
  tone?: string
}) {
  return (
    <div class={`figure ${props.tone ? `tone-${props.tone}` : ''}`}>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
      {props.note && <dd class="figure-note">{props.note}</dd>}
    </div>
  )
}
