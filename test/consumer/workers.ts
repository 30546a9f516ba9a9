import { idle, notify, proceed, semaphore, sleep, supervise, worker } from 'holdfast/workers'

export const wake = notify()
export const limit = { fixed: semaphore(2) }
export const directives = [proceed(), proceed({ sent: 1 }), sleep('1s', 'later'), idle()] as const

export const sender = worker('sender', { wakeOn: [wake], every: '1m', limit }, async ({ signal }) =>
  signal.aborted ? idle() : sleep('10ms'),
)
export const counter = worker('counter', { onThrow: 'propagate' }, async () => idle({ sent: 1 }))

export const supervisor = supervise([sender, counter], { restart: 'one' })
export const health = supervisor.health()
export const stopped = supervisor.stop({ within: '1s' }).then(({ stragglers }) => stragglers)
