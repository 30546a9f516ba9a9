-- Limits of workflows, and priorities of starts.
-- Works with 0006.

-- The limit of a workflow, in the row without a version, as the runtime said that registered last.
-- keyed: whether each key has a limit of its own; null for no limit.
alter table workflows
  add column concurrency integer,
  add column rate_count integer,
  add column rate_ms bigint,
  add column keyed boolean;

-- Whether any workflow has a limit at all.
create index workflows_limited on workflows (workflow) where keyed is not null;

alter table runs
  -- Which starts are claimed first: higher ones. Null for 0, which then takes no room.
  add column priority smallint,
  -- Null for an instance without a limit; false while its limit does not admit it.
  add column admitted boolean;

drop index runs_due;

-- For claim() and tick(): what is due, workflow by workflow, in each by priority.
create index runs_due on runs (workflow, (coalesce(priority, 0)), wake_at)
  where wake_at is not null and attempts < 2 and admitted is not false;

-- Whether there is any priority to look at.
create index runs_prioritized on runs (workflow)
  where priority is not null and wake_at is not null and attempts < 2 and admitted is not false;

-- For admit_due(): which limits have to be judged, now or at a time.
create index runs_unadmitted on runs (workflow, wake_at)
  where wake_at is not null and admitted = false;

-- Unfinished instances of workflows with a limit.
create table admissions (
  iid bigint primary key,
  -- When its start was due: the order of a line.
  since bigint not null,
  -- The workflow whose row has the limit.
  workflow integer not null,
  priority smallint not null,
  -- 0 not judged yet, or suspended, 1 in line, 2 admitted.
  state smallint not null,
  -- Null until a runtime that has the code has computed it.
  limit_key text collate "C"
);

-- The lines, each in order.
create index admissions_line on admissions (workflow, limit_key, priority desc, since, iid)
  where state = 1;

-- For counting who was admitted.
create index admissions_admitted on admissions (workflow, limit_key) where state = 2;

-- These take or answer more from now on. Those who do not know of it leave it out.
drop function if exists register;
drop function if exists claim;
drop function if exists next_wake;
drop function if exists commit_batch;
drop function if exists end_instances;
drop function if exists whereabouts;
drop function if exists import_instance;
