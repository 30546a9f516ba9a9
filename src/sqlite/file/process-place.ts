import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

// Processes that share a file are on one machine, so a process that was killed can be told apart
// from one that is silent: other processes need not wait for its lease.
//
// A process is identified by the boot of the machine, the namespace of its process id (each
// container has one), the process id, and its start time: process ids are reused, in containers
// after each start, and so are the names of namespaces. Only Linux provides the boot, the namespace
// and the start time; elsewhere the host name and the process id have to do.

/** The state of a process, as far as it can be seen from here. */
export type Fate = 'there' | 'gone' | 'unknown'

/** The namespace of processes that are in no container: Linux gives it this number. */
const OUTERMOST = 'pid:[4026531836]'

/** This process, in a form that others on the same file can check. */
export function ownProcess(): string {
  const { host, boot, namespace, began } = own()
  return `${host}/${boot}/${namespace} ${process.pid} ${began}`
}

/** Whether that process is certainly gone; false if that cannot be seen from here. */
export function isGone(other: string): boolean {
  return fateOf(other) === 'gone'
}

/** The state of a process. */
export function fateOf(other: string): Fate {
  const { host, boot, namespace } = own()
  const found = parse(other)
  if (found === undefined) return 'unknown'
  // Two machines cannot use one file at the same time, so that machine, and its processes, have
  // ended. But containers may each be shown a boot of their own, on one machine at the same time.
  if (boot !== '' && found.boot !== '' && boot !== found.boot) {
    return namespace === OUTERMOST && found.namespace === OUTERMOST ? 'gone' : 'unknown'
  }
  const isHere = boot === found.boot && (boot !== '' || host === found.host)
  if (!isHere || namespace !== found.namespace) return 'unknown'
  return isRunning(found.pid, found.began) ? 'there' : 'gone'
}

interface ProcessPlace {
  readonly host: string
  readonly boot: string
  readonly namespace: string
  /** When the process began, in clock ticks since boot, as Linux reports it. */
  readonly began: string
}

function parse(text: string): (ProcessPlace & { readonly pid: number }) | undefined {
  const match = /^(.*)\/([^/]*)\/([^/ ]*) (\d+) ?(\d*)$/s.exec(text)
  if (match === null) return undefined
  const [, host, boot, namespace, pid, began] = match as unknown as [string, ...string[]]
  return { host: host!, boot: boot!, namespace: namespace!, pid: Number(pid), began: began! }
}

function isRunning(pid: number, began: string): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Anything else, such as a lack of rights, means that a process of this number is there.
    if ((error as { code?: string }).code === 'ESRCH') return false
  }
  const found = statusOf(String(pid))
  if (found === undefined) return true
  // A process that has ended keeps its number until its parent has waited for it, which some never
  // do.
  return !found.hasEnded && (began === '' || began === found.began)
}

let known: ProcessPlace | undefined

function own(): ProcessPlace {
  known ??= {
    host: hostname(),
    boot: attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? '',
    namespace: attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '',
    began: statusOf('self')?.began ?? '',
  }
  return known
}

function statusOf(pid: string): { readonly began: string; readonly hasEnded: boolean } | undefined {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (text === undefined) return undefined
  // The name of the program, in brackets, may contain anything. The state follows it, as third
  // field; the beginning is the twenty-second.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { began: fields[19] ?? '', hasEnded: fields[0] === 'Z' || fields[0] === 'X' }
}

// Linux only, and even there it may be forbidden.
function attempt(read: () => string): string | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
