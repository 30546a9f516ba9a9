// Icons are strokes on a grid of 16, in the colour of the text beside them.

const PATHS = {
  overview: 'M2.5 13.5v-5M6.2 13.5v-9M9.8 13.5V7M13.5 13.5v-11',
  instances: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  workflows: 'M4 3.2h3v3H4zM9.5 9.8h3v3h-3zM5.5 6.2v2.3a2.8 2.8 0 0 0 2.8 2.8h1.2',
  tasks: 'M2.8 4.2l1.2 1.2 2-2.4M2.8 11l1.2 1.2 2-2.4M8.5 4.4h5M8.5 11.4h5',
  runtimes: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01',
  schedules: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6',
  outbox: 'M2.5 9v4h11V9M8 10.5V2.5M5 5.2L8 2.5l3 2.7',
  queues: 'M2.5 5h3.4v6H2.5zM7 5h3v6H7zM11.5 5h2v6h-2z',
  errors: 'M8 2.5l6 10.8H2L8 2.5zM8 6.8v3M8 11.6h.01',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1',
  moon: 'M13.2 9.8A5.6 5.6 0 0 1 6.2 2.8a5.6 5.6 0 1 0 7 7z',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.3 1.9c-.7.4-1.1.8-1.1 1.7M8 12.2h.01',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.4 10.4l3.1 3.1',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  next: 'M6 3.5L10.5 8 6 12.5',
  back: 'M10 3.5L5.5 8l4.5 4.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  play: 'M5 3.2l7.5 4.8L5 12.8z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  fork: 'M5 2.5v11M5 8.5c0-2 6-1 6-4.5V2.5',
  send: 'M2.5 8h10M9 4.5L12.5 8 9 11.5',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9',
  activity: 'M2 8.5h2.6l2-5.5 3 10 1.9-4.5H14',
  step: 'M3 3h10v10H3z',
  timer: 'M8 14A5.2 5.2 0 1 0 8 3.6 5.2 5.2 0 0 0 8 14zM8 6.2v2.7l1.8 1.1M6.2 1.8h3.6',
  receive: 'M2.5 4h11v8h-11zM2.5 4.5L8 9l5.5-4.5',
  child: 'M4 2.5v6a2.5 2.5 0 0 0 2.5 2.5h6M10 8.5l2.5 2.5L10 13.5',
} as const

export type IconName = keyof typeof PATHS

/** An icon beside a text; it says nothing by itself. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
