import type { Effects, StateChange } from '../../store/commits.ts'
import type { NoteEvent } from '../../store/history.ts'
import type { Iid } from '../../store/instances.ts'
import type { NewTask } from '../../store/tasks.ts'
import { replyAddress } from '../core/replies.ts'

/** Collects the effects of a turn beyond its own history. Most turns have none. */
export class EffectsCollector {
  readonly dropped: number[] = []
  readonly #iid: Iid
  #parked: number[] = []
  #closes: Effects['closes'] = []
  #clearsState = false
  #state: StateChange[] = []
  #progress: string | null = null
  #replies: Effects['replies'][number][] = []
  readonly #tasks: NewTask[] = []
  readonly #dropsTasks: number[] = []
  #any = false

  constructor(iid: Iid) {
    this.#iid = iid
  }

  note(note: NoteEvent): void {
    switch (note.type) {
      case 'dropped':
        this.dropped.push(note.command)
        return
      case 'patched':
      case 'refused':
        return
      case 'set':
        this.#state.push({ key: note.key, value: note.value })
        break
      case 'unset':
        this.#state.push({ key: note.key, value: null })
        break
      case 'cleared':
        this.#clearsState = true
        this.#state = []
        break
      case 'progress':
        this.#progress = note.value
        break
      case 'replied':
        this.#replies.push({ to: replyAddress(this.#iid, note.to), payload: note.value })
        break
    }
    this.#any = true
  }

  /** Messages that no code waits for. */
  park(rows: readonly number[]): void {
    if (rows.length === 0) return
    this.#parked.push(...rows)
    this.#any = true
  }

  /** Adds an activity for any runtime that can run it. */
  task(task: NewTask): void {
    this.#tasks.push(task)
    this.#any = true
  }

  /** A task whose result is no longer wanted. */
  dropTask(command: number): void {
    this.#dropsTasks.push(command)
    this.#any = true
  }

  /** Children that are to end. */
  close(children: Effects['closes']): void {
    if (children.length === 0) return
    this.#closes = children
    this.#any = true
  }

  get effects(): Effects | null {
    if (!this.#any) return null
    return {
      parked: this.#parked,
      closes: this.#closes,
      clearsState: this.#clearsState,
      state: this.#state,
      progress: this.#progress,
      replies: this.#replies,
      tasks: this.#tasks,
      dropsTasks: this.#dropsTasks,
    }
  }
}

/** No effects. */
export const NO_EFFECTS: Effects = {
  parked: [],
  closes: [],
  clearsState: false,
  state: [],
  progress: null,
  replies: [],
  tasks: [],
  dropsTasks: [],
}
