import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

// Processes that share a file are on one machine, so one that was killed can be told from one that
// is silent: nobody has to wait for its lease. Numbers of processes mean something only within one
// boot and one container, so both belong to the place.

/** This process, as others on the same file may ask for it. */
export function ownProcess(): string {
  return `${place()} ${process.pid}`
}

/** Whether that process is certainly gone; false when it cannot be told. */
export function isGone(other: string): boolean {
  const split = other.lastIndexOf(' ')
  if (other.slice(0, split) !== place()) return false
  try {
    process.kill(Number(other.slice(split + 1)), 0)
    return false
  } catch (error) {
    // Anything else, such as a lack of rights, means that it is there.
    return (error as { code?: string }).code === 'ESRCH'
  }
}

let known: string | undefined

function place(): string {
  known ??= [
    hostname(),
    attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    attempt(() => readlinkSync('/proc/self/ns/pid')),
  ].join('/')
  return known
}

// Linux only; elsewhere the name of the host has to do.
function attempt(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
