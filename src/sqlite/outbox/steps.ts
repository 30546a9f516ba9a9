import type { Step, StepAnswer } from '../../store/outbox-store.ts'
import type { Transaction } from '../file/database.ts'
import { isAlive } from '../operations/runtimes.ts'
import { claim, type Held, judge } from './claim.ts'
import { type PartitionRow, readPartition, savePartition } from './partition-row.ts'
import { type Read, readPartitionMessages } from './read.ts'
import { settle } from './settle.ts'
import { handOutWaiting, takeBackWaiting } from './waiting.ts'

/** The answers to steps, in their order. */
export interface StepAnswers {
  readonly clock: number
  readonly answers: readonly StepAnswer[]
}

/** Takes steps with partitions: claim, or settle what was delivered; then read; then release. */
export function takeSteps(
  tx: Transaction,
  prefix: string,
  runtime: number,
  steps: readonly Step[],
): StepAnswers {
  const answers = isAlive(tx, runtime)
    ? steps.map((step) => takeStep(tx, prefix, runtime, step))
    : steps.map(() => ({ state: 'dead' }) as const)
  return { clock: tx.now, answers }
}

function takeStep(tx: Transaction, prefix: string, runtime: number, step: Step): StepAnswer {
  const found = readPartition(tx, prefix, step.partition)
  if (found === undefined) return { state: 'lost' }
  const held = hold(tx, prefix, runtime, found, step)
  if (typeof held === 'string') return { state: held }
  const settled = step.settle === null ? held.row : settle(tx, prefix, held.row, step.settle)
  const { ownDueAt, ...read } = readPartitionMessages(tx, prefix, settled, step.read)
  const isReleased = releases(step, read)
  const row: PartitionRow = {
    ...settled,
    owner: isReleased ? null : runtime,
    dueAt: ownDueAt,
    ...handOut(tx, prefix, settled, isReleased ? 'nothing' : step.read > 0 ? read : 'the same'),
  }
  savePartition(tx, prefix, row)
  const { epoch, cursor, done, failures, later } = row
  const { abandoned } = held
  // There is one writer at a time: nothing that is read can be followed by what comes before it.
  return {
    state: 'ok',
    epoch,
    cursor,
    done,
    failures,
    later,
    abandoned,
    ...read,
    isBlocked: false,
    isReleased,
  }
}

function hold(
  tx: Transaction,
  prefix: string,
  runtime: number,
  row: PartitionRow,
  step: Step,
): Held | 'busy' | 'lost' {
  // What is settled was handed out at an epoch.
  if (step.epoch === null && step.settle === null) return claim(tx, prefix, runtime, row) ?? 'busy'
  return judge(row, runtime, step) ? { row, abandoned: 0 } : 'lost'
}

type Handed = Pick<Read, 'messages' | 'due'>

function releases({ release }: Step, { messages, due }: Handed): boolean {
  if (release === 'when-empty') return messages.length + due.length === 0
  return release === 'always'
}

/** Notes what the owner is busy with from now on. */
function handOut(
  tx: Transaction,
  prefix: string,
  { partition, handed, handedWaiting }: PartitionRow,
  what: Handed | 'nothing' | 'the same',
): Pick<PartitionRow, 'handed' | 'handedWaiting'> {
  if (what === 'the same') return { handed, handedWaiting }
  if (handedWaiting > 0) takeBackWaiting(tx, prefix, partition, false)
  if (what === 'nothing') return { handed: 0, handedWaiting: 0 }
  handOutWaiting(tx, prefix, partition, what.due)
  return { handed: what.messages.length, handedWaiting: what.due.length }
}
