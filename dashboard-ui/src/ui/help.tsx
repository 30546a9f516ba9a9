import { signal } from '@preact/signals'

import { shortcuts } from '../keyboard/shortcuts.ts'
import { Button } from './button.tsx'
import { Modal } from './dialog.tsx'

export const helpIsOpen = signal(false)

/** All keys that work on the screen that is shown. */
export function Help() {
  if (!helpIsOpen.value) return null
  const close = (): void => {
    helpIsOpen.value = false
  }
  return (
    <Modal label="Keyboard shortcuts" onClose={close}>
      <header class="page-head">
        <h2>Keyboard shortcuts</h2>
        <Button kind="quiet" icon="close" aria-label="Close" onClick={close} />
      </header>
      <div class="keys">
        {shortcuts.value.map(({ group, items }) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {items.map(({ keys, what }) => (
                <>
                  <dt>
                    {keys.split(' ').map((key) => (
                      <>
                        <kbd>{key}</kbd>{' '}
                      </>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  )
}
