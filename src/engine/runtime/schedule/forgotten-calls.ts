import { instanceKeys } from '../../core/log-keys.ts'
import type { Execution } from '../../replay/execution.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import { describeForgotten, type Forgotten, MAX_NAMED } from '../../replay/forgotten.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'
import { readTurn } from '../../instance/read-instance.ts'
import { type Begin, retrace } from '../../instance/turn.ts'

// After this many reports about a workflow, they name its calls without lines, which are known by then.
const MAX_LOCATED = 100

/**
 * Warns of calls that were not awaited before the workflow ended.
 *
 * Recording the place of every call would cost more than the call. So the execution is read and replayed
 * once it has ended.
 */
export class ForgottenCalls {
  readonly #core: RuntimeCore
  readonly #begin: Begin
  readonly #makeExecution: (instance: LiveInstance) => Execution
  /** How many executions of a workflow were replayed for it. */
  readonly #located = new Map<string, number>()

  constructor(
    core: RuntimeCore,
    begin: Begin,
    makeExecution: (instance: LiveInstance) => Execution,
  ) {
    this.#core = core
    this.#begin = begin
    this.#makeExecution = makeExecution
  }

  /** Call it when the end of the execution is committed. */
  report(instance: LiveInstance): void {
    const { forgotten, failsForgotten } = instance.run
    // Those that failed the workflow were logged with its failure.
    if (forgotten.some(({ began }) => began || !failsForgotten))
      void this.#warn(instance, forgotten)
  }

  async #warn(instance: LiveInstance, forgotten: readonly Forgotten[]): Promise<void> {
    const { name, version } = instance.definition
    const located = this.#located.get(`${name} ${version}`) ?? 0
    this.#located.set(`${name} ${version}`, located + 1)
    const found = (located < MAX_LOCATED ? await this.#locate(instance) : undefined) ?? forgotten
    if (!instance.run.failsForgotten) {
      const lost = found.filter(({ began }) => !began)
      this.#log(instance, lost, 'they were cancelled and may never have run')
    }
    const begun = found.filter(({ began }) => began)
    this.#log(instance, begun, 'they were started and then cancelled')
  }

  #log(instance: LiveInstance, forgotten: readonly Forgotten[], so: string): void {
    const total = forgotten.length
    if (total === 0) return
    const calls = forgotten.slice(0, MAX_NAMED).map((call) => describeForgotten(call))
    this.#core.log.warn(
      { ...instanceKeys(instance), calls, ...(total > calls.length && { total }) },
      `workflow ended without awaiting calls, so ${so}; await them, or call cancel() on them`,
    )
  }

  /** The same calls with their lines; `undefined` when the lines cannot be found. */
  async #locate(instance: LiveInstance): Promise<readonly Forgotten[] | undefined> {
    const { store, log } = this.#core
    const run = this.#makeExecution(instance)
    try {
      const past = (await store.history(instance.iid, instance.execution)).map(readTurn)
      await retrace(instance.twin(run, past), this.#begin)
      return run.forgotten.length > 0 ? run.forgotten : undefined
    } catch (err) {
      log.debug({ ...instanceKeys(instance), err }, 'lines of calls without await not found')
      return undefined
    } finally {
      run.drop()
    }
  }
}
