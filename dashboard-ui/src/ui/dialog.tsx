import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

import { RequestError } from '../api/http.ts'
import { refresh } from '../api/live.ts'
import { Button } from './button.tsx'
import { toast } from './toast.tsx'

/** A question that has to be answered before something is changed. */
export interface Question {
  readonly title: string
  readonly body: ComponentChildren
  /** The word on the button. */
  readonly verb: string
  readonly danger?: boolean
  /** Fields that are filled in; their values go to `act`. */
  readonly fields?: readonly Field[]
  /** Does it. What it returns is said when it is done; what it throws is shown in the dialog. */
  readonly act: (values: Readonly<Record<string, string>>) => Promise<string | undefined>
}

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly multiline?: boolean
  /** Not to be read over a shoulder. */
  readonly secret?: boolean
  /** What has to be typed for the button to work. */
  readonly mustBe?: string
}

const question = signal<Question | undefined>(undefined)

/** Asks. */
export function ask(given: Question): void {
  question.value = given
}

/** Where the question is shown; once on the page. */
export function Questions() {
  const asked = question.value
  return asked === undefined ? null : (
    <QuestionDialog key={asked.title} asked={asked} onClose={() => (question.value = undefined)} />
  )
}

function QuestionDialog({ asked, onClose }: { asked: Question; onClose: () => void }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const isReady = (asked.fields ?? []).every(
    ({ name, mustBe }) => mustBe === undefined || values[name] === mustBe,
  )
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (!isReady || busy) return
    setBusy(true)
    setError('')
    try {
      const said = await asked.act(values)
      onClose()
      if (said !== undefined) toast(said)
    } catch (thrown) {
      const isLockedOut = thrown instanceof RequestError && thrown.code === 'unauthorized'
      // Then the page offers to enter it.
      if (isLockedOut) refresh()
      const message = thrown instanceof Error ? thrown.message : String(thrown)
      setError(isLockedOut ? `${message}: leave this, and enter the token` : message)
      setBusy(false)
    }
  }
  return (
    <Modal label={asked.title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{asked.title}</h2>
        <div class="dialog-body">{asked.body}</div>
        {asked.fields?.map((field) => (
          <label key={field.name} class="field">
            <span>{field.label}</span>
            {field.multiline ? (
              <textarea
                rows={6}
                spellcheck={false}
                onInput={({ currentTarget }) =>
                  setValues({ ...values, [field.name]: currentTarget.value })
                }
              />
            ) : (
              <input
                {...(field.secret ? ({ type: 'password' } as const) : ({ type: 'text' } as const))}
                autocomplete="off"
                onInput={({ currentTarget }) =>
                  setValues({ ...values, [field.name]: currentTarget.value })
                }
              />
            )}
            {field.hint && <small class="faint">{field.hint}</small>}
          </label>
        ))}
        {error !== '' && (
          <p class="form-error" role="alert">
            {error}
          </p>
        )}
        <footer>
          <Button onClick={onClose}>Leave it</Button>
          <Button
            type="submit"
            kind={asked.danger ? 'danger' : 'primary'}
            disabled={!isReady || busy}
          >
            {busy ? 'Working…' : asked.verb}
          </Button>
        </footer>
      </form>
    </Modal>
  )
}

/** A dialog over the page. Escape closes it, and the focus goes back to where it was. */
export function Modal(props: { label: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current!.showModal()
    return () => before?.focus()
  }, [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-label={props.label}
      onClose={props.onClose}
      onClick={({ target }) => {
        if (target === dialog.current) props.onClose()
      }}
    >
      <div class="dialog-inner">{props.children}</div>
    </dialog>
  )
}
