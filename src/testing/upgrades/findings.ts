// Puts breakages that are the same into one finding: a change breaks many instances in one way.

import { describeCommand, describeNote } from '../../engine/replay/describe-command.ts'
import type { CommandEvent, NoteEvent } from '../../store/history.ts'
import type { WorkflowName } from '../../store/instances.ts'
import type { Breakage } from './rehearsals.ts'
import { type Change, suggest } from './suggest.ts'

/** One way in which the code of today breaks instances. */
export interface UpgradeFinding {
  readonly workflow: string
  /** The version that the instances run under. */
  readonly version: string
  /**
   * `mismatch`: the code asks for something else than history has. `broken-rule`: it does what cannot be
   * replayed, such as waiting for a Node timer. `unreadable`: history cannot be read.
   * `unregistered`: no code of this version is registered, so that the instances would wait.
   */
  readonly kind: Breakage['kind'] | 'unregistered'
  /** What happens, as the report of the first suspended instance would say it. */
  readonly message: string
  /** The number of the command in the first history, from 1; 0 if it is not about a command. */
  readonly command: number
  /** Where in the code, such as `at pay (/app/pay.ts:12:9)`; empty if that is not known. */
  readonly line: string
  /** What changed, as far as history shows it. */
  readonly change: Change
  /** Code that keeps these instances, if `ctx.patched` can; empty otherwise. */
  readonly patch: string
  /** The version to register the new code as, to keep the old one beside it. */
  readonly nextVersion: string
  /** How many unfinished instances break like this. */
  readonly running: number
  /** How many instances that have ended would have. */
  readonly finished: number
  /** Ids of some of them, unfinished ones first. */
  readonly examples: readonly string[]
}

const MAX_EXAMPLES = 5

interface Group {
  readonly finding: Omit<UpgradeFinding, 'running' | 'finished' | 'examples'>
  readonly running: string[]
  readonly finished: string[]
  runningCount: number
  finishedCount: number
}

/** Collects breakages. */
export class Findings {
  readonly #groups = new Map<string, Group>()

  /** Adds the breakage of one instance. */
  add(
    { name, version }: WorkflowName,
    nextVersion: string,
    breakage: Breakage,
    { id, isFinished }: { readonly id: string; readonly isFinished: boolean },
  ): void {
    const { change, patch = '' } = suggest(breakage)
    const { kind, message, position: command, line } = breakage
    const group = this.#group([name, version, ...keyOf(breakage)], {
      workflow: name,
      version,
      kind,
      message,
      command,
      line,
      change,
      patch,
      nextVersion,
    })
    if (isFinished) group.finishedCount++
    else group.runningCount++
    const examples = isFinished ? group.finished : group.running
    if (examples.length < MAX_EXAMPLES) examples.push(id)
  }

  /** Adds unfinished instances of a version that is not registered. */
  addUnregistered(
    { name, version }: WorkflowName,
    latest: string,
    running: number,
    examples: readonly string[],
  ): void {
    const group = this.#group([name, version, 'unregistered'], {
      workflow: name,
      version,
      kind: 'unregistered',
      message:
        `version ${version} of workflow "${name}" is not registered (the latest that is: ${latest}), so ` +
        'its instances would wait; register its code as well until they have ended',
      command: 0,
      line: '',
      change: 'removed',
      patch: '',
      nextVersion: '',
    })
    group.runningCount += running
    group.running.push(...examples.slice(0, MAX_EXAMPLES - group.running.length))
  }

  /** All findings: those that break running instances first, then by how many. */
  list(): readonly UpgradeFinding[] {
    return [...this.#groups.values()]
      .toSorted((a, b) => b.runningCount - a.runningCount || b.finishedCount - a.finishedCount)
      .map(({ finding, running, finished, runningCount, finishedCount }) => ({
        ...finding,
        running: runningCount,
        finished: finishedCount,
        examples: [...running, ...finished].slice(0, MAX_EXAMPLES),
      }))
  }

  #group(key: readonly string[], finding: Group['finding']): Group {
    const text = JSON.stringify(key)
    let group = this.#groups.get(text)
    if (group === undefined) {
      group = { finding, running: [], finished: [], runningCount: 0, finishedCount: 0 }
      this.#groups.set(text, group)
    }
    return group
  }
}

/**
 * What the same breakage of different instances has in common: neither values, nor numbers of commands,
 * which differ between rounds of a loop.
 */
function keyOf({ kind, message, line, mismatch }: Breakage): string[] {
  if (mismatch === undefined) return [kind, line === '' ? withoutId(message) : line]
  const { recorded, given, does = '' } = mismatch
  return [kind, described(recorded), described(given), does, line]
}

function described(event: CommandEvent | NoteEvent | undefined): string {
  if (event === undefined) return ''
  if (event.type === 'dropped') return 'cancel'
  if (event.type === 'send' || event.type === 'read') {
    return `${event.type} ${event.type === 'send' ? event.name : event.key}`
  }
  return 'command' in event ? describeCommand(event) : describeNote(event)
}

/** Messages of broken rules begin with the instance. */
function withoutId(message: string): string {
  return message.replace(/^instance "(?:[^"\\]|\\.)*"/, 'instance')
}
