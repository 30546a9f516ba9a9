-- What starts instances at due times.
-- Works with 0004.

create table schedules (
  anchor bigint not null,
  next_at bigint not null,
  -- When a runtime has to look at it; null while it is paused.
  wake_at bigint,
  -- When next_at was set.
  set_at bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  last_at bigint,
  started bigint not null default 0,
  skipped bigint not null default 0,
  skipped_at bigint,
  missed bigint not null default 0,
  missed_at bigint,
  error_at bigint,
  workflow integer not null,
  paused boolean not null default false,
  name text collate "C" primary key,
  -- Changes whenever a client changes the schedule.
  revision text collate "C" not null,
  -- When it is due, and what it starts: JSON that is not read here.
  timing text not null,
  template text not null,
  last_id text,
  error text,
  -- Instances that it started and that had not ended when it was last fired.
  running bigint[] not null default '{}'
) with (fillfactor = 50);

create index schedules_due on schedules (wake_at) where wake_at is not null;
-- For noticing that the clock was turned back.
create index schedules_set on schedules (set_at) where wake_at is not null;

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists tick;
