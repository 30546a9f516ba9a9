import type {
  Admin,
  DeleteOptions,
  ErrorGroup,
  ErrorsOptions,
  ExecutionInfo,
  Filter,
  InstanceUsage,
  Listing,
  Page,
  PruneOptions,
  RuntimeInfo,
  Stats,
  TaskFilter,
  TaskInfo,
  TreeOptions,
  Unserved,
  Which,
  WorkflowInfo,
} from '../define/admin.ts'
import type { InstanceInfo } from '../define/instance.ts'
import type { ClientCore } from './client-core.ts'
import { listTasks, metrics, stats } from './backlog.ts'
import { cancelAll, resumeAll, suspendAll, terminateAll } from './bulk.ts'
import { errorGroups } from './error-groups.ts'
import { runtimes, unserved, workflows } from './fleet.ts'
import { executions, tree, usage } from './inspect.ts'
import { count } from './listing.ts'
import { prune, remove } from './removal.ts'

/** Administration by a client. */
export class EngineAdmin implements Admin {
  readonly #core: ClientCore

  constructor(core: ClientCore) {
    this.#core = core
  }

  count(filter?: Filter): Promise<number> {
    return count(this.#core, filter)
  }

  tree(id: string, options?: TreeOptions): Promise<readonly InstanceInfo[]> {
    return tree(this.#core, id, options)
  }

  executions(id: string): Promise<readonly ExecutionInfo[]> {
    return executions(this.#core, id)
  }

  usage(id: string): Promise<InstanceUsage> {
    return usage(this.#core, id)
  }

  cancel(which: Which, reason?: string): Promise<number> {
    return cancelAll(this.#core, which, reason)
  }

  terminate(which: Which, reason?: string): Promise<number> {
    return terminateAll(this.#core, which, reason)
  }

  suspend(which: Which, reason?: string): Promise<number> {
    return suspendAll(this.#core, which, reason)
  }

  resume(which: Which): Promise<number> {
    return resumeAll(this.#core, which)
  }

  delete(which: Which, options?: DeleteOptions): Promise<number> {
    return remove(this.#core, which, options)
  }

  prune(options?: PruneOptions): Promise<number> {
    return prune(this.#core, options)
  }

  stats(): Promise<Stats> {
    return stats(this.#core)
  }

  metrics(): Promise<Readonly<Record<string, number>>> {
    return metrics(this.#core)
  }

  runtimes(): Promise<readonly RuntimeInfo[]> {
    return runtimes(this.#core)
  }

  workflows(): Promise<readonly WorkflowInfo[]> {
    return workflows(this.#core)
  }

  unserved(): Promise<readonly Unserved[]> {
    return unserved(this.#core)
  }

  tasks(filter?: TaskFilter, page?: Pick<Page, 'limit' | 'after'>): Promise<Listing<TaskInfo>> {
    return listTasks(this.#core, filter, page)
  }

  errors(filter?: Filter, options?: ErrorsOptions): Promise<readonly ErrorGroup[]> {
    return errorGroups(this.#core, filter, options)
  }
}
