import {
  CHANGE_VERDICTS,
  type ChangeVerdict,
  PUSH_STATES,
  type PushVerdict,
} from '../../store/queue-store.ts'

// What became of the parts of a batch, on its way from the thread.

/** Verdicts as numbers. */
export interface PackedVerdicts {
  readonly changes: Uint8Array
  /** Three for each group. */
  readonly pushes: Float64Array
}

/** One number for each change. */
export function packChangeVerdicts(verdicts: readonly ChangeVerdict[]): Uint8Array {
  return Uint8Array.from(verdicts, (verdict) => CHANGE_VERDICTS.indexOf(verdict))
}

/** Takes verdicts of pushes apart. */
export function packPushVerdicts(verdicts: readonly PushVerdict[]): Float64Array {
  const packed = new Float64Array(verdicts.length * 3)
  verdicts.forEach(({ state, firstId, count }, i) => {
    packed[i * 3] = PUSH_STATES.indexOf(state)
    packed[i * 3 + 1] = firstId
    packed[i * 3 + 2] = count
  })
  return packed
}

/** Puts them together again. */
export function unpackVerdicts({ changes, pushes }: PackedVerdicts): {
  readonly changes: readonly ChangeVerdict[]
  readonly pushes: readonly PushVerdict[]
} {
  const stored: PushVerdict[] = []
  for (let i = 0; i < pushes.length; i += 3) {
    const state = PUSH_STATES[pushes[i]!]!
    stored.push({ state, firstId: pushes[i + 1]!, count: pushes[i + 2]! })
  }
  return { changes: Array.from(changes, (verdict) => CHANGE_VERDICTS[verdict]!), pushes: stored }
}
