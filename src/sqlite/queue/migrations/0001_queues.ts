// Never edited once released.

/** Queues, who uses them, and their messages. */
export const QUEUES = `
create table queues (
  queue integer primary key,
  name text not null unique,
  -- Of the whole file, the largest counts: ids are never used again, in no queue.
  next_id integer not null,
  -- How many messages are in each state; kept with every batch, so that nobody has to count.
  ready integer not null,
  in_flight integer not null,
  delayed integer not null,
  dead integer not null
) strict;

-- Who uses a queue. What a process had that is gone can be given to others at once.
create table sessions (
  session integer primary key autoincrement,
  queue integer not null,
  process text not null,
  -- After how many attempts this user wants a message set aside; null for no limit.
  max_attempts integer
) strict;

create table messages (
  id integer primary key,
  queue integer not null,
  -- 0 ready, 1 delayed, 2 in flight, 3 dead, 4 blocked by an earlier message of its key
  state integer not null,
  priority integer not null,
  -- When the delay or the lease ends. A dead letter keeps a delay that was not over.
  due_at integer,
  attempt integer not null,
  receipt integer not null,
  session integer,
  pushed_at integer not null,
  expires_at integer,
  key text,
  -- Why it is a dead letter, or why its latest attempt came to nothing.
  reason text,
  format integer not null,
  -- Over the data, the id and the format.
  checksum integer not null,
  -- How long the data is, if it stands in a table of its own: a delivery writes its row anew.
  large integer,
  -- Text or bytes.
  data any
) strict;
-- Which message is next, if it has not expired?
create index messages_ready on messages (queue, priority desc, id, expires_at) where state = 0;
-- Whose delay or lease has ended? Also: what is in flight?
create index messages_due on messages (queue, state, due_at) where due_at is not null;
-- What has expired? One in flight may still succeed, and a dead letter stays.
create index messages_expiring on messages (queue, expires_at)
  where expires_at is not null and state in (0, 1, 4);
-- Is there a message of a key that the others wait for? Dead letters, of which there may be any
-- number, stand in neither index.
create index messages_first_of_key on messages (queue, key)
  where key is not null and state in (0, 1, 2);
-- Which message of a key is next?
create index messages_blocked on messages (queue, key, id) where key is not null and state = 4;
-- Which are the dead letters?
create index messages_dead on messages (queue, id) where state = 3;

create table large_data (
  id integer primary key,
  data any not null
) strict;

-- Groups of messages that were pushed under a key, and until when others under it are the same.
create table dedupes (
  queue integer not null,
  key text not null,
  first_id integer not null,
  count integer not null,
  until integer not null,
  primary key (queue, key)
) strict, without rowid;
-- Which need not be remembered any longer?
create index dedupes_until on dedupes (until);
`
