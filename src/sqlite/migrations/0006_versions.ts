// Never edited once released.

/** Which version a start runs that named none is decided when it is first claimed. */
export const VERSIONS = `
-- The numbers of the workflows that a runtime has the code of: a JSON list.
alter table runtimes add column workflows text not null default '[]';
`
