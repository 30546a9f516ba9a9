// Never edited once released.

/** How many messages wait for instances that were never started is bounded in all. */
export const UNSTARTED = `
-- inbox.parked: 0 it waits for an owner · 1 the owner has no use for it so far, or will read it when
-- its instance is claimed · 2 its instance was never started.
update inbox set parked = 2
where iid in (select iid from instances where status = 'absent');

-- About one in a thousand of them: to estimate how many there are.
create index inbox_early on inbox (iid) where parked = 2 and id % 1021 = 0;
`
