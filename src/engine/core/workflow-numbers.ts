import type { Clock } from '../../base/time/clock.ts'
import { NO_VERSION } from '../../store/instances.ts'
import type { RegisteredWorkflow, WorkflowLimit } from '../../store/runtimes.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { ResolvedLimit } from '../define/limit.ts'
import type { Registry } from '../define/registry.ts'
import { untilAnswered } from './resend.ts'

/** What this needs of its runtime. */
export interface WorkflowNumbersHost {
  readonly store: Pick<WorkflowStore, 'workflowNumbers'>
  readonly clock: Clock
  isClosing(): boolean
}

/**
 * What a runtime registers: its workflows, and each of them without a version, for such starts.
 * `generalMs` is the retention of workflows that have none of their own.
 */
export function registrationOf(
  { workflows, latestWorkflows }: Registry,
  generalMs: number | undefined,
): readonly RegisteredWorkflow[] {
  // Retention also applies to instances that end before a runtime takes them up.
  const unversioned = latestWorkflows.map((latest) => ({ ...latest, version: NO_VERSION }))
  return [...workflows, ...unversioned].map(
    ({ name, version, retentionMs = generalMs, limit }) => ({
      name,
      version,
      retentionMs,
      // That of the latest version applies to all.
      ...(version === NO_VERSION && limit !== undefined && { limit: storedLimit(limit) }),
    }),
  )
}

function storedLimit({ concurrency, rate, key }: ResolvedLimit): WorkflowLimit {
  return { concurrency: concurrency ?? null, rate: rate ?? null, keyed: key !== undefined }
}

/** The numbers that the store gives to workflows. They outlive the runtime. */
export class WorkflowNumbers {
  readonly #host: WorkflowNumbersHost
  readonly #registered = new Map<WorkflowDefinition, number>()
  /** By name: the number for starts without a version. */
  readonly #unversioned = new Map<string, number>()

  constructor(host: WorkflowNumbersHost) {
    this.#host = host
  }

  /** Remembers the store's answer to a registration, in the order of `registrationOf`. */
  learn({ workflows, latestWorkflows }: Registry, numbers: readonly number[]): void {
    workflows.forEach((definition, i) => this.#registered.set(definition, numbers[i]!))
    latestWorkflows.forEach(({ name }, i) =>
      this.#unversioned.set(name, numbers[workflows.length + i]!),
    )
  }

  /** The numbers of all registered workflows, and those for starts without a version. */
  get registered(): readonly number[] {
    return [...this.#registered.values(), ...this.#unversioned.values()]
  }

  /** The number of a registered workflow; `undefined` for any other. */
  of(definition: WorkflowDefinition): number | undefined {
    if (definition.version === NO_VERSION) return this.#unversioned.get(definition.name)
    return this.#registered.get(definition)
  }

  /** Asks the store for the number of any workflow. */
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
