// Never edited once released.

/** What starts instances at due times. */
export const SCHEDULES = `
create table schedules (
  name text primary key,
  revision text not null,
  workflow integer not null,
  timing text not null,
  template text not null,
  anchor integer not null,
  next_at integer not null,
  -- When a runtime has to look at it; null while it is paused.
  wake_at integer,
  -- When next_at was set.
  set_at integer not null,
  paused integer not null default 0,
  -- Instances that it started and that had not ended when it was last fired: a JSON list.
  running text not null default '[]',
  created_at integer not null,
  updated_at integer not null,
  last_at integer,
  last_id text,
  started integer not null default 0,
  skipped integer not null default 0,
  skipped_at integer,
  missed integer not null default 0,
  missed_at integer,
  error text,
  error_at integer
) strict;

create index schedules_due on schedules (wake_at) where wake_at is not null;
-- For noticing that the clock was turned back.
create index schedules_set on schedules (set_at) where wake_at is not null;
`
