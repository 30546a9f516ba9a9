/** Where an instance is between two turns. */
export type Phase =
  /** Waits for results, messages or time. */
  | { readonly is: 'waiting' }
  /** Has something to do, and waits for its turn. */
  | { readonly is: 'ready' }
  /** Its decision is being committed. */
  | { readonly is: 'committing' }
  /** Released, and kept in memory in case this runtime claims it again. */
  | { readonly is: 'released' }
  /** It has left this runtime. */
  | { readonly is: 'gone'; readonly why: Departure }

/**
 * Why an instance is gone from this runtime. Results that still finish here belong to the next owner
 * of a superseded instance, and are kept for a suspended one. Those of one that was rolled back are
 * dropped, because the store may have lost what they depend on.
 */
export type Departure =
  | 'ended'
  | 'continued'
  | 'suspended'
  | 'superseded'
  | 'rolled back'
  | 'evicted'
