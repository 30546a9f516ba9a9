-- Workflow instances: who they are, who runs them, what happened, and what waits for them.
--
-- No foreign keys: each would lock the row it points to, once per insert. Columns stand by size,
-- widest first, so that rows hold no padding.

-- Workflows by name and version. Rows are never changed nor removed.
create table workflows (
  workflow integer generated always as identity primary key,
  name text collate "C" not null,
  version text collate "C" not null,
  unique (name, version)
);

-- One row per start of a process that runs workflows.
--
-- The number is drawn at random. A serial one would be given out twice after a failover that lost
-- the newest rows, and two processes would then write as one owner.
create table runtimes (
  lease_until bigint not null,
  registered_at bigint not null,
  runtime integer primary key,
  -- 1 alive, 2 dead, 3 closed. Whoever is not alive, or is not here, never writes again.
  state smallint not null,
  info text not null
) with (fillfactor = 50);

-- For declaring dead those whose lease ended. Without lease_until, so that renewing it is a
-- change on the same page (HOT).
create index runtimes_alive on runtimes (runtime) where state = 1;

-- Numbers of instances, given out in blocks by reserve() and by nothing else.
create sequence instance_numbers as bigint cache 1;

-- Every instance, finished or not. Written at its start, at its end, and when set aside.
create table instances (
  iid bigint primary key,
  created_at bigint not null,
  -- Turns do not write here: their own time is in history.
  updated_at bigint not null,
  finished_at bigint,
  workflow integer not null,
  execution integer not null,
  -- 1 running, 2 completed, 3 failed, 4 cancelled, 5 terminated. Set aside: see runs.held.
  status smallint not null,
  id text collate "C" not null unique,
  output text,
  report text
) with (fillfactor = 50);

-- Unfinished instances only, as narrow as can be, since each claim and release writes one.
--
--   wake_at is not null  =>  owner is null and not held
--
-- The owner is in no index, so that claiming what has mail and releasing it stay on the page
-- (HOT). What a dead runtime owned is found by a scan, once per death.
create table runs (
  iid bigint primary key,
  wake_at bigint,
  workflow integer not null,
  owner integer,
  epoch integer not null,
  -- How often an owner died with it since it last got any further.
  attempts smallint not null default 0,
  held boolean not null default false
) with (fillfactor = 70);

-- For claim() and tick(): what is due, workflow by workflow.
create index runs_due on runs (workflow, wake_at) where wake_at is not null;

-- One row per turn, only ever added. The epoch tells a commit sent again from a stranger's.
create table history (
  iid bigint not null,
  at bigint not null,
  execution integer not null,
  turn integer not null,
  epoch integer not null,
  first integer not null,
  count integer not null,
  events text not null,
  primary key (iid, execution, turn)
);

-- What waits for an owner. Senders only insert; only the owner parks or removes.
create table inbox (
  -- Never a cursor: rows may become visible out of order.
  id bigint generated always as identity (cache 1),
  iid bigint not null,
  execution integer,
  command integer,
  -- 1 result
  kind smallint not null,
  -- Nobody waits for it yet; it makes nothing claimable.
  parked boolean not null default false,
  payload text not null,
  primary key (iid, id)
);

-- The first result of a command wins.
create unique index inbox_results on inbox (iid, execution, command) where command is not null;

-- For claim() and tick(): instances with mail.
create index inbox_mail on inbox (iid) where not parked;
