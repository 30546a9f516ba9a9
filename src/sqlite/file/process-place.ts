import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

// Processes that share a file are on one machine, so one that was killed can be told from one that
// is silent: nobody has to wait for its lease.
//
// A process is known by the boot of the machine, the namespace that its number belongs to (each
// container has one), the number, and when it began: numbers are used again, in containers after
// each start, and so are the names of namespaces. Only Linux tells the boot, the namespace and the
// beginning; elsewhere the name of the host and the number have to do.

/** What became of a process, as far as can be known from here. */
export type Fate = 'there' | 'gone' | 'unknown'

/** The namespace of processes that are in no container: Linux gives it this number. */
const OUTERMOST = 'pid:[4026531836]'

/** This process, as others on the same file may ask for it. */
export function ownProcess(): string {
  const { host, boot, namespace, began } = own()
  return `${host}/${boot}/${namespace} ${process.pid} ${began}`
}

/** Whether that process is certainly gone; false when that cannot be known. */
export function isGone(other: string): boolean {
  return fateOf(other) === 'gone'
}

/** What became of a process. */
export function fateOf(other: string): Fate {
  const { host, boot, namespace } = own()
  const found = parse(other)
  if (found === undefined) return 'unknown'
  // Two machines cannot use one file at a time, so that one has ended, and its processes with it.
  // Only containers may each be shown a boot of their own, on one machine and at one time.
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
  /** When the process began, in the machine's own measure. */
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
  // One that has ended keeps its number until its parent has asked for it, which some never do.
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
  // The name of the program, in brackets, may hold anything. The state follows it, as third field;
  // the beginning is the twenty-second.
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
