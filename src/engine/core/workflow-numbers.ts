import type { Clock } from '../../base/time/clock.ts'
import { NO_VERSION } from '../../store/instances.ts'
import type { RegisteredWorkflow } from '../../store/runtimes.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { Registry } from '../define/registry.ts'
import { untilAnswered } from './resend.ts'

/** What this needs of its runtime. */
export interface WorkflowNumbersHost {
  readonly store: Pick<WorkflowStore, 'workflowNumbers'>
  readonly clock: Clock
  isClosing(): boolean
}

/** What a runtime registers: its workflows, and what stands for starts of them without a version. */
export function registrationOf({
  workflows,
  latestWorkflows,
}: Registry): readonly RegisteredWorkflow[] {
  // Retention counts for those, too, that are ended before anybody takes them up.
  const unversioned = latestWorkflows.map((latest) => ({ ...latest, version: NO_VERSION }))
  return [...workflows, ...unversioned].map(({ name, version, retentionMs }) => ({
    name,
    version,
    retentionMs,
  }))
}

/** The numbers under which the store knows workflows. They stay, whatever becomes of the runtime. */
export class WorkflowNumbers {
  readonly #host: WorkflowNumbersHost
  readonly #registered = new Map<WorkflowDefinition, number>()
  /** By name: what stands for a start that names no version. */
  readonly #unversioned = new Map<string, number>()

  constructor(host: WorkflowNumbersHost) {
    this.#host = host
  }

  /** What the store answered to a registration, in the order of `registrationOf`. */
  learn({ workflows, latestWorkflows }: Registry, numbers: readonly number[]): void {
    workflows.forEach((definition, i) => this.#registered.set(definition, numbers[i]!))
    latestWorkflows.forEach(({ name }, i) =>
      this.#unversioned.set(name, numbers[workflows.length + i]!),
    )
  }

  /** Those of the workflows that are registered here, and of starts of them without a version. */
  get registered(): readonly number[] {
    return [...this.#registered.values(), ...this.#unversioned.values()]
  }

  /** The number of a workflow that is registered here; `undefined` for any other. */
  of(definition: WorkflowDefinition): number | undefined {
    if (definition.version === NO_VERSION) return this.#unversioned.get(definition.name)
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
