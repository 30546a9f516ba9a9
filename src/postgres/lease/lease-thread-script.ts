/** `lease-thread-main.ts` and all it needs as one script: put in place by `scripts/embed-threads.mjs`. */
export const LEASE_THREAD_SCRIPT: string | undefined = undefined
