import { formatCount } from '../format/number.ts'

/** A count that steps back when it is zero, and is red when it should be. */
export function Count({ n, bad = false }: { n: number; bad?: boolean }) {
  return <span class={n === 0 ? 'faint' : bad ? 'bad' : ''}>{formatCount(n)}</span>
}
