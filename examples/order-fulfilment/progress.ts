import type { Order } from './domain.ts'
import type { Entry } from './ledger.ts'
import type { Outcome } from './workflow.ts'

const STAGES = ['reserve stock', 'charge card', 'pack', 'courier', 'ship', 'send mail'] as const
const WIDTH = 12

/** Where the text goes: `process.stdout` has all of it. */
export interface Screen {
  readonly isTTY?: boolean
  readonly rows?: number
  readonly columns?: number
  write(text: string): unknown
}

/** Shows how the orders are doing. */
export interface Progress {
  /** Something happened in the shop. */
  saw(entry: Entry): void
  /** An order has come to its end. */
  ended(order: Order, outcome: Outcome): void
  /** A line of its own, above the orders. */
  say(text: string): void
}

/**
 * One line for each order, rewritten in place on a terminal that is tall enough; otherwise a line
 * for each thing that happens. `earlier` is what was done before this process was started.
 */
export function showProgress(
  screen: Screen,
  orders: readonly Order[],
  earlier: readonly Entry[],
  env: Readonly<Record<string, string | undefined>>,
): Progress {
  const tall = (screen.rows || 24) > orders.length + 2
  const inPlace = screen.isTTY === true && tall && env['TERM'] !== 'dumb'
  const paint = painter(screen.isTTY === true && !env['NO_COLOR'])
  const states = new Map(orders.map((order) => [order.id, { done: 0, text: 'waits', colour: 2 }]))
  let drawn = false

  const line = ({ id, customer, item }: Order): string => {
    const { done, text, colour } = states.get(id)!
    const filled = Math.round((done / STAGES.length) * WIDTH)
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled)
    // Cut to the width: a line that wraps would be two when the cursor goes back up.
    const plain = `${id}  ${`${customer}'s ${item}`.padEnd(17)} `
    const rest = text.slice(0, Math.max(0, (screen.columns || 80) - plain.length - WIDTH - 4))
    return `  ${plain}${paint(36, bar)} ${paint(colour, rest)}`
  }
  const draw = (): void => {
    const up = drawn ? `\u001B[${orders.length}A` : ''
    screen.write(up + orders.map((order) => `\u001B[2K${line(order)}\n`).join(''))
    drawn = true
  }
  const apply = (entry: Entry): boolean => {
    const state = 'order' in entry && states.get(entry.order)
    if (!state || entry.what === 'charged') return false
    const stage = STAGES.indexOf(entry.activity as (typeof STAGES)[number])
    // Giving back what was reserved is no step forward.
    const before = stage < 0 ? state.done : stage
    const attempt = entry.attempt > 1 ? ` (attempt ${entry.attempt})` : ''
    switch (entry.what) {
      case 'begun':
        Object.assign(state, { done: before, text: `${entry.activity}${attempt}`, colour: 0 })
        return true
      case 'failed':
        Object.assign(state, { text: `${entry.activity} failed: ${entry.note}`, colour: 33 })
        return true
      case 'done': {
        const text = entry.activity === 'pack' ? 'waits for the courier' : `${entry.activity} done`
        Object.assign(state, { done: stage < 0 ? before : stage + 1, text, colour: 2 })
        return true
      }
    }
  }
  const show = (id: string): void => {
    if (inPlace) return draw()
    screen.write(`  ${id}  ${states.get(id)!.text}\n`)
  }

  for (const entry of earlier) apply(entry)
  if (inPlace) draw()
  return {
    saw(entry) {
      if (!apply(entry) || !('order' in entry)) return
      // A list of lines is long enough without the beginnings.
      if (inPlace || entry.what !== 'begun') show(entry.order)
    },
    ended({ id }, outcome) {
      const shipped = outcome.kind === 'shipped'
      const text = shipped ? `shipped as ${outcome.tracking}` : `declined: ${outcome.reason}`
      states.set(id, { done: shipped ? STAGES.length : 0, text, colour: shipped ? 32 : 31 })
      show(id)
    },
    say(text) {
      if (inPlace && drawn) screen.write(`\u001B[${orders.length}A\u001B[J`)
      drawn = false
      screen.write(`${text}\n`)
      if (inPlace) draw()
    },
  }
}

/** Puts a colour around text, or leaves it alone. */
function painter(coloured: boolean): (code: number, text: string) => string {
  return (code, text) => (coloured && code > 0 ? `\u001B[${code}m${text}\u001B[0m` : text)
}
