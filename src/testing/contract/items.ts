import type { Termination } from '../../store/admin.ts'
import type { Effects, Next } from '../../store/commits.ts'
import type { Post } from '../../store/inbox.ts'
import type { Iid, ParentLink } from '../../store/instances.ts'
import { type Actor, ending, idOf, postTo, type Scene, turnItem, turnRow } from './scene.ts'

// Short ways to make what goes beyond a plain turn: effects, families, messages, ends.

/** The usual end. */
export const END: Next = { kind: 'end', end: ending() }

/** Effects: none but those given. */
export function effects(given: Partial<Effects>): Effects {
  return {
    parked: [],
    closes: [],
    clearsState: false,
    state: [],
    progress: null,
    replies: [],
    tasks: [],
    dropsTasks: [],
    ...given,
  }
}

/** Sets values; `null` removes one. */
export function setting(values: Readonly<Record<string, string | null>>): Effects {
  return effects({ state: Object.entries(values).map(([key, value]) => ({ key, value })) })
}

/** The next execution begins: by default the second one, which its owner keeps. */
export function continuing(
  workflow: number,
  { execution = 2, keep = true }: { execution?: number; keep?: boolean } = {},
): Next {
  const started = turnRow(1, { execution, events: `life ${execution}` })
  return { kind: 'continue', started, workflow, keep }
}

/** A link to the parent: by default the child of its first command, cancelled with it. */
export function childOf(parent: Iid, given: Partial<ParentLink> = {}): ParentLink {
  return { iid: parent, id: idOf(parent), execution: 1, command: 1, onClose: 'cancel', ...given }
}

/** A message for the channel `notes`. Its number is reserved when it is posted. */
export function message(id: string, payload: string, given: Partial<Post> = {}): Post {
  return {
    id,
    kind: 'message',
    name: 'notes',
    payload,
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid: 0,
    ...given,
  }
}

/** A request to end an instance. */
export function stop(id: string, kind: 'cancel' | 'terminate', payload = '"enough"'): Post {
  return { ...message(id, payload), kind, name: '' }
}

/** Posts messages for an id that is not there, and returns the number it got. */
export async function early(scene: Scene, id: string, payloads = ['1']): Promise<Iid> {
  const [answer] = await postTo(
    scene.store,
    payloads.map((payload) => message(id, payload)),
  )
  return answer!.iid
}

/** Ends an instance that a runtime owns, in its second turn. */
export async function endOf(runtime: Actor, iid: Iid, { execution = 1 } = {}): Promise<void> {
  await runtime.turns(turnItem(iid, { turn: turnRow(2, { execution }), next: END }))
}

/** The end of an instance from outside. */
export function termination(iid: Iid, output = '"stopped"'): Termination {
  return { id: idOf(iid), output, events: `terminated ${iid}` }
}
