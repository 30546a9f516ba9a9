import { channel, workflow } from '../../src/index.ts'

/** What is sent between processes. */
export const mail = channel<string>('mail')

/** Ends with the first message it gets. */
export const reader = workflow('reader', async (_: undefined, ctx) => ctx.receive(mail))
