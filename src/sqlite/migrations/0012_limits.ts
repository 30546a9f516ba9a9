// Never edited once released.

/** Limits of workflows, and priorities of starts. */
export const LIMITS = `
-- The limit of a workflow, in the row without a version, as the runtime said that registered last.
-- keyed: whether each key has a limit of its own; null for no limit.
alter table workflows add column concurrency integer;
alter table workflows add column rate_count integer;
alter table workflows add column rate_ms integer;
alter table workflows add column keyed integer;
-- Whether any workflow has a limit at all.
create index workflows_limited on workflows (workflow) where keyed is not null;

-- Which starts are claimed first: higher ones. Null for 0.
alter table runs add column priority integer;
-- Null for an instance without a limit; 0 while its limit does not admit it.
alter table runs add column admitted integer;
drop index runs_due;
-- For claims, and for the time of the next one: workflow by workflow, in each by priority.
create index runs_due on runs (workflow, coalesce(priority, 0), wake_at)
  where wake_at is not null and attempts < 2 and admitted is not false;
-- Whether there is any priority to look at.
create index runs_prioritized on runs (workflow) where priority is not null;
-- Which limits have to be judged, now or at a time.
create index runs_unadmitted on runs (workflow, wake_at)
  where wake_at is not null and admitted = false;

-- Unfinished instances of workflows with a limit.
create table admissions (
  iid integer primary key,
  -- The workflow whose row has the limit.
  workflow integer not null,
  -- Null until a runtime that has the code has computed it.
  limit_key text,
  priority integer not null,
  -- When its start was due: the order of a line.
  since integer not null,
  -- unjudged: or suspended.
  state text not null check (state in ('unjudged', 'waiting', 'admitted'))
) strict;
-- The lines, each in order.
create index admissions_line on admissions (workflow, limit_key, priority desc, since, iid)
  where state = 'waiting';
-- For counting who was admitted.
create index admissions_admitted on admissions (workflow, limit_key) where state = 'admitted';
`
