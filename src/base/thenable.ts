/**
 * Passes the rejection of a callback's result to `complain`, should the callback be async.
 *
 * Callbacks of users are called for their effect, and an async function fits the type of one that
 * returns nothing: without this its failure would end the process. Throws what a `then` throws.
 */
export function catchRejection(result: unknown, complain: (error: unknown) => void): void {
  if (isThenable(result)) result.then(undefined, complain)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}
