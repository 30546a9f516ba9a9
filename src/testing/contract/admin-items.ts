import type {
  Found,
  InstanceQuery,
  SearchPage,
  SearchPosition,
  TaskQuery,
} from '../../store/admin-store.ts'
import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'

// Short ways to ask for instances and tasks.

/** A query for all instances, newest first, but for what is given. */
export function queryFor(given: Partial<InstanceQuery> = {}): InstanceQuery {
  return {
    workflow: null,
    version: null,
    statuses: null,
    labels: [],
    createdFrom: null,
    createdUntil: null,
    finishedFrom: null,
    finishedUntil: null,
    parent: null,
    idPrefix: null,
    minExecution: 1,
    order: 'newest',
    ...given,
  }
}

/** A query for all tasks but for what is given. */
export function taskQuery(given: Partial<TaskQuery> = {}): TaskQuery {
  return { activity: null, tag: null, session: null, instance: null, state: null, ...given }
}

/** One page of a search; by default all there is. */
export function search(
  store: WorkflowStore,
  query: Partial<InstanceQuery> = {},
  page: Partial<SearchPage> = {},
): Promise<Found> {
  return store.admin.search(queryFor(query), { after: null, limit: 1_000, scan: 2_000, ...page })
}

/** All that a search finds, page by page. */
export async function searchAll(
  store: WorkflowStore,
  query: Partial<InstanceQuery>,
  page: { readonly limit: number; readonly scan: number },
): Promise<Iid[]> {
  const found: Iid[] = []
  let after: SearchPosition | null = null
  do {
    const { iids, next }: Found = await search(store, query, { ...page, after })
    found.push(...iids)
    after = next
  } while (after !== null)
  return found
}
