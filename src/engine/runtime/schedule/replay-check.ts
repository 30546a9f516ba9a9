import { errorToData } from '../../../base/codec/error-data.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { readTurn } from '../../instance/read-instance.ts'
import type { TurnOutput } from '../../instance/turn-output.ts'
import { type Begin, retrace } from '../../instance/turn.ts'
import { describeCommand, describeNote } from '../../replay/describe-command.ts'
import type { Execution, Outcome } from '../../replay/execution.ts'
import { NondeterminismError } from '../../replay/nondeterminism.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

/**
 * Replays an instance from its history before each turn is committed, by calling its code a second time, and
 * compares what both did. A test finds code that is not deterministic this way, without a crash.
 */
export class ReplayCheck {
  readonly #core: RuntimeCore
  readonly #begin: Begin
  readonly #makeExecution: (instance: LiveInstance) => Execution

  constructor(
    core: RuntimeCore,
    begin: Begin,
    makeExecution: (instance: LiveInstance) => Execution,
  ) {
    this.#core = core
    this.#begin = begin
    this.#makeExecution = makeExecution
  }

  /** What a replay finds wrong with a turn that is not committed yet; `undefined` when it is fine. */
  async findMistake(instance: LiveInstance, { events }: TurnOutput): Promise<unknown> {
    const { iid, execution, at } = instance
    const run = this.#makeExecution(instance)
    try {
      const rows = instance.isStarted ? await this.#core.store.history(iid, execution) : []
      const past = [...rows.map(readTurn), { at, events }]
      const { fresh } = await retrace(instance.twin(run, past), this.#begin)
      const [extra] = fresh
      if (extra !== undefined) {
        const call =
          'command' in extra && extra.type !== 'dropped'
            ? describeCommand(extra)
            : describeNote(extra)
        return differs('nothing more in this turn', `a call of ${call}`, run)
      }
      return this.#compare(instance.run.outcome, run)
    } catch (error) {
      return error instanceof NondeterminismError ? inReplay(error) : error
    } finally {
      run.drop()
    }
  }

  #compare(first: Outcome | undefined, run: Execution): Error | undefined {
    const [expected, actual] = [this.#describe(first), this.#describe(run.outcome)]
    return expected === actual ? undefined : differs(expected, actual, run)
  }

  #describe(outcome: Outcome | undefined): string {
    switch (outcome?.kind) {
      case undefined:
        return 'a wait'
      case 'returned':
        return `the result ${this.#encode(outcome.value)}`
      case 'threw': {
        const { name, message } = errorToData(outcome.error)
        return `the error ${name}: ${message}`
      }
      case 'continued':
        return `ctx.continueAsNew() with ${outcome.input}`
    }
  }

  #encode(value: unknown): string {
    try {
      return this.#core.values.encode(value, 'its result')
    } catch {
      // The instance fails for that reason, and says so.
      return 'a value that cannot be stored'
    }
  }
}

function differs(expected: string, actual: string, { lastCall }: Execution): NondeterminismError {
  return new NondeterminismError(
    `${DIFFERS}: expected ${expected}, got ${actual}${lastCall?.text ?? ''}`,
    0,
    expected,
    actual,
  )
}

/** What was found in the history of the turn before: it is the code that does not repeat itself. */
function inReplay({ message, position, expected, actual, cause }: NondeterminismError): Error {
  const options = cause === undefined ? {} : { cause }
  return new NondeterminismError(`${DIFFERS}: ${message}`, position, expected, actual, options)
}

const DIFFERS = 'the code did not do the same when its history was replayed'

/** What to do about code that does not repeat itself. */
export const REPEAT_ADVICE =
  'a variable that a step or an activity sets, new Date(), and whatever is outside of the workflow have ' +
  'other values after a crash; return what the workflow needs from the step, and use ctx.now(), ' +
  'ctx.random() and ctx.state'
