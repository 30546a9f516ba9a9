// Never edited once released. Numbers of instances, runtimes and messages are never used again,
// also after deletes: who remembers an old one must not meet a new one under it.

/** Instances, their histories, who runs them, and what waits for them. */
export const INSTANCES = `
-- One row. The server is this file, whatever its path and whoever has it open.
create table store (
  server text not null,
  next_iid integer not null
) strict;
insert into store (server, next_iid) values (lower(hex(randomblob(16))), 1);

create table workflows (
  workflow integer primary key,
  name text not null,
  version text not null,
  unique (name, version)
) strict;

create table runtimes (
  runtime integer primary key autoincrement,
  state text not null check (state in ('alive', 'dead', 'closed')),
  lease_until integer not null,
  -- Which process of which machine: one that is gone need not be waited for.
  process text not null,
  info text not null
) strict;
-- For the tick: whose lease has ended?
create index runtimes_alive on runtimes (lease_until) where state = 'alive';

-- Written at the start, when set aside, and at the end; not by the turns between.
create table instances (
  iid integer primary key,
  id text not null unique,
  workflow integer not null,
  execution integer not null,
  status text not null check (status in ('running', 'completed', 'failed', 'cancelled', 'terminated')),
  output text,
  report text,
  created_at integer not null,
  updated_at integer not null,
  finished_at integer
) strict;

-- Unfinished instances only. wake_at is not null only where owner is null and held is 0.
create table runs (
  iid integer primary key,
  workflow integer not null,
  owner integer,
  epoch integer not null,
  wake_at integer,
  attempts integer not null,
  held integer not null
) strict;
-- For claims, and for the time of the next one.
create index runs_due on runs (workflow, wake_at) where wake_at is not null;
-- For the tick, and for freeing what a runtime had.
create index runs_owned on runs (owner) where owner is not null;

-- One row a turn; the epoch says which owner wrote it. In the order of writing, not by instance:
-- a batch of many instances then adds to the end of the table instead of changing a page for each
-- (19 pages of WAL against 59 for 100 turns).
create table history (
  iid integer not null,
  execution integer not null,
  turn integer not null,
  epoch integer not null,
  at integer not null,
  first integer not null,
  count integer not null,
  events text not null,
  unique (iid, execution, turn)
) strict;

-- The unique key drops second results, and finds what an instance has.
create table inbox (
  id integer primary key autoincrement,
  iid integer not null,
  kind text not null,
  execution integer not null,
  command integer not null,
  payload text not null,
  at integer not null,
  unique (iid, execution, command)
) strict;
`
