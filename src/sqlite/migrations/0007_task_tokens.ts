// Never edited once released.

/** Results name the task they belong to. Null for what a version made that does not know of tokens. */
export const TASK_TOKENS = `
alter table tasks add column token integer;
`
