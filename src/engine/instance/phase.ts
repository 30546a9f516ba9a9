/** Where an instance is between two turns. */
export type Phase =
  /** Waits for results, messages or time. */
  | { readonly is: 'waiting' }
  /** Has something to do, and waits for its turn. */
  | { readonly is: 'ready' }
  /** What its turn decided is at the store. */
  | { readonly is: 'committing' }
  /** Given back to the store, and kept in case this runtime claims it again. */
  | { readonly is: 'released' }
  /** Nothing may be done with it any more. */
  | { readonly is: 'gone'; readonly why: Departure }

/**
 * Why an instance is gone from this runtime. Results that still finish here belong to the next owner
 * of one that was superseded, and to a suspended one. Those of one that was rolled back are dropped,
 * because what they follow from may be lost.
 */
export type Departure =
  'ended' | 'continued' | 'suspended' | 'superseded' | 'rolled back' | 'evicted'
