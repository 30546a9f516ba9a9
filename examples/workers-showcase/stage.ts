import type { Logger } from 'holdfast/workers'
import { virtualClock, type VirtualClock } from 'holdfast/testing'

/** One story about workers, and what it is expected to show. */
export interface Scenario<Outcome = unknown> {
  /** The behaviour it shows; the tests and the contract list use the same name. */
  readonly contract: string
  readonly title: string
  readonly story: string
  /** Plays it and returns what happened. */
  play(stage: Stage): Promise<Outcome>
  /** What has to be true of the outcome, in words and as a fact. */
  check(outcome: Outcome): { readonly holds: boolean; readonly claim: string }
}

/** Receives what happens, and when. */
export type Narrator = (atMs: number, who: string, what: string) => void

/** What a scenario plays on. */
export interface Stage {
  /** Does not move until the scenario moves it, so that hours pass in an instant. */
  readonly clock: VirtualClock
  /** Turns the log lines of workers and supervisors into lines of the story. */
  readonly log: Logger
  readonly say: (who: string, what: string) => void
  /** Pretends to be busy for this many milliseconds. */
  readonly work: (ms: number) => Promise<void>
}

/** A fresh stage at time 0. */
export function openStage(narrate: Narrator = () => {}): Stage {
  const clock = virtualClock()
  const say = (who: string, what: string): void => narrate(clock.now(), who, what)
  const logLine = (data: object, message = ''): void =>
    say('worker' in data ? String(data.worker) : 'log', `log: ${message}`)
  return {
    clock,
    log: { debug() {}, info() {}, warn: logLine, error: logLine },
    say,
    work: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
  }
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** `04:30:00.100`: hours, minutes, seconds and milliseconds since the start of a story. */
export function timeText(ms: number): string {
  return `${pad(ms / HOUR)}:${pad((ms / MINUTE) % 60)}:${pad((ms / SECOND) % 60)}.${pad(ms % 1_000, 3)}`
}

function pad(value: number, digits = 2): string {
  return String(Math.floor(value)).padStart(digits, '0')
}
