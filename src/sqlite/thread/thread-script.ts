/** `thread-main.ts` and all it needs as one script: put in place by `scripts/embed-threads.mjs`. */
export const THREAD_SCRIPT: string | undefined = undefined
