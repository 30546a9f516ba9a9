import type { Status } from '../../../src/index.ts'

/** A state by shape, word and colour; each of the first two is enough. */
type Tone = 'running' | 'completed' | 'failed' | 'suspended' | 'waiting' | 'ended'

const SHAPES = {
  play: 'M3.5 2.2l6 3.8-6 3.8z',
  check: 'M2.2 6.4l2.6 2.6 5-5.6',
  cross: 'M2.8 2.8l6.4 6.4M9.2 2.8L2.8 9.2',
  bars: 'M4 2.5v7M8 2.5v7',
  clock: 'M6 10.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM6 3.8V6l1.6 1',
  slash: 'M6 10.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM2.9 2.9l6.2 6.2',
  square: 'M3 3h6v6H3z',
  triangle: 'M6 1.8l4.6 8.2H1.4z',
  dot: 'M6 8.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z',
  ring: 'M6 9.8a3.8 3.8 0 1 0 0-7.6 3.8 3.8 0 0 0 0 7.6z',
} as const

const LOOKS: Readonly<Record<string, { shape: keyof typeof SHAPES; tone: Tone; filled?: true }>> = {
  scheduled: { shape: 'clock', tone: 'waiting' },
  running: { shape: 'play', tone: 'running', filled: true },
  suspended: { shape: 'bars', tone: 'suspended' },
  completed: { shape: 'check', tone: 'completed' },
  failed: { shape: 'cross', tone: 'failed' },
  cancelled: { shape: 'slash', tone: 'ended' },
  terminated: { shape: 'square', tone: 'ended', filled: true },
  continued: { shape: 'check', tone: 'ended' },
  waiting: { shape: 'clock', tone: 'waiting' },
  delayed: { shape: 'clock', tone: 'suspended' },
  alive: { shape: 'dot', tone: 'completed', filled: true },
  silent: { shape: 'triangle', tone: 'suspended' },
  dead: { shape: 'cross', tone: 'failed' },
  ok: { shape: 'check', tone: 'completed' },
  note: { shape: 'ring', tone: 'running' },
  warning: { shape: 'triangle', tone: 'suspended' },
  error: { shape: 'cross', tone: 'failed' },
  paused: { shape: 'bars', tone: 'suspended' },
  active: { shape: 'play', tone: 'running', filled: true },
  pending: { shape: 'cross', tone: 'failed' },
  reprocessing: { shape: 'play', tone: 'running', filled: true },
  resolved: { shape: 'check', tone: 'completed' },
  discarded: { shape: 'slash', tone: 'ended' },
  idle: { shape: 'ring', tone: 'ended' },
  sleeping: { shape: 'clock', tone: 'ended' },
  'backing-off': { shape: 'triangle', tone: 'suspended' },
  stopped: { shape: 'square', tone: 'ended', filled: true },
}

const UNKNOWN = { shape: 'ring', tone: 'ended' } as const

/** The statuses of an instance, in the order of its life. */
export const STATUSES: readonly Status[] = [
  'scheduled',
  'running',
  'suspended',
  'completed',
  'failed',
  'cancelled',
  'terminated',
]

/** The colour that goes with a state, as a part of a class name. */
export function toneOf(state: string): Tone {
  return (LOOKS[state] ?? UNKNOWN).tone
}

/** Only the shape. */
export function StatusShape({ of }: { of: string }) {
  const { shape, tone, filled } = { filled: undefined, ...(LOOKS[of] ?? UNKNOWN) }
  return (
    <svg
      class={`shape tone-${tone} ${filled ? 'filled' : ''}`}
      viewBox="0 0 12 12"
      aria-hidden="true"
    >
      <path d={SHAPES[shape]} />
    </svg>
  )
}

/** The shape and the word, or another text in its place. */
export function StatusMark(props: { of: string; soft?: boolean; text?: string }) {
  const { of, soft = false, text = of } = props
  return (
    <span class={`status tone-${toneOf(of)} ${soft ? 'soft' : ''}`}>
      <StatusShape of={of} />
      {text}
    </span>
  )
}
