import { place, setQuery } from '../routing/router.ts'
import { Button } from './button.tsx'

/** Below a list that comes in pages: the cursor is `after` in the address of the screen. */
export function Paging({ shown, next }: { shown: string; next: string | number | undefined }) {
  const isLater = place.value.query.has('after')
  if (next === undefined && !isLater) return null
  return (
    <div class="paging">
      <span>{shown}</span>
      <span class="actions">
        <Button disabled={!isLater} onClick={() => setQuery((to) => to.delete('after'))}>
          First page
        </Button>
        <Button
          disabled={next === undefined}
          onClick={() => setQuery((to) => to.set('after', String(next)))}
        >
          Next
        </Button>
      </span>
    </div>
  )
}
