import type { Clock } from '../../base/clock.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { WorkflowDefinition } from '../definitions.ts'
import { untilAnswered } from './life.ts'

/** What this needs of its runtime. */
export interface WorkflowNumbersHost {
  readonly store: Pick<WorkflowStore, 'workflowNumbers'>
  readonly clock: Clock
  isClosing(): boolean
}

/** The numbers under which the store knows workflows. They stay, whatever becomes of the runtime. */
export class WorkflowNumbers {
  readonly #host: WorkflowNumbersHost
  readonly #registered = new Map<WorkflowDefinition, number>()

  constructor(host: WorkflowNumbersHost) {
    this.#host = host
  }

  /** What the store answered to a registration, in the order of the definitions. */
  learn(definitions: readonly WorkflowDefinition[], numbers: readonly number[]): void {
    definitions.forEach((definition, i) => this.#registered.set(definition, numbers[i]!))
  }

  /** Those of the workflows that are registered here. */
  get registered(): readonly number[] {
    return [...this.#registered.values()]
  }

  /** The number of a workflow that is registered here; `undefined` for any other. */
  of(definition: WorkflowDefinition): number | undefined {
    return this.#registered.get(definition)
  }

  /** The number of any workflow, as the store gives it. */
  async ask(name: string, version: string): Promise<number> {
    const { store, clock } = this.#host
    const [number] = await untilAnswered(
      clock,
      () => this.#host.isClosing(),
      () => store.workflowNumbers([{ name, version }]),
    )
    return number!
  }
}
