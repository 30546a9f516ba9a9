/** How an attempt at an activity or a step ended; values and errors are encoded. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly payload: string }
  | { readonly kind: 'failed'; readonly payload: string }
  /** Another attempt follows after `delayMs`. */
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
  /** A transaction: its result is in the inbox of the instance, or was refused. */
  | { readonly kind: 'stored' }
