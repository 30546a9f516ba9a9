-- The outbox: messages that are written in transactions of users, and delivered afterwards. Every name
-- begins with outbox_, which is replaced with the prefix of the family.

create table outbox_topics (
  topic integer generated always as identity primary key,
  name text collate "C" not null unique,
  -- The number of its first partition; the others follow.
  first integer not null,
  partitions integer not null,
  -- Until then some process looks for messages by itself, and needs no notification.
  awake_until bigint not null default 0
);

-- One row for each partition, changed with every batch that is delivered.
create table outbox_partitions (
  partition integer primary key,
  topic integer not null,
  -- The runtime that delivers it at present, if any.
  owner integer,
  -- Raised by each claim.
  epoch bigint not null default 0,
  -- Every message up to this position is done.
  cursor bigint not null default 0,
  -- How many messages that is.
  seq bigint not null default 0,
  -- How many messages after the cursor the owner is busy with.
  handed integer not null default 0,
  -- How many of those that wait apart it is busy with.
  handed_waiting integer not null default 0,
  -- Positions after the cursor that are done.
  done bigint[] not null default '{}',
  -- Positions after the cursor that failed, and how often.
  failed bigint[] not null default '{}',
  failures integer[] not null default '{}',
  -- Positions after the cursor that are not delivered before a time, and when; nor is what is behind them.
  later bigint[] not null default '{}',
  later_at bigint[] not null default '{}',
  -- Nothing is delivered before this time.
  due_at bigint,
  -- Whether messages of it may wait apart, in outbox_waiting.
  has_waiting boolean not null default false
)
with (fillfactor = 50);

-- Positions and ids. Without a cache: they must be given out in order.
create sequence outbox_positions cache 1;

create table outbox_messages (
  partition integer not null,
  position bigint not null,
  -- Null when it is the position.
  id bigint,
  enqueued_at bigint not null,
  expires_at bigint,
  key text,
  payload text not null,
  headers text,
  primary key (partition, position)
)
with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);

-- Messages that enter their partition later.
create table outbox_delayed (
  due_at bigint not null,
  id bigint not null,
  partition integer not null,
  enqueued_at bigint not null,
  ttl_ms bigint,
  key text,
  payload text not null,
  headers text,
  primary key (due_at, id)
);

-- Dedupe keys of messages.
create table outbox_keys (
  topic integer not null,
  key text collate "C" not null,
  id bigint not null,
  at bigint not null,
  primary key (topic, key)
);

create index outbox_keys_at on outbox_keys (at);

-- Messages that wait apart, so that messages with other keys can pass them. The first of each key has a
-- time at which it is tried again; those behind it have none.
create table outbox_waiting (
  partition integer not null,
  position bigint not null,
  id bigint not null,
  seq bigint not null,
  enqueued_at bigint not null,
  expires_at bigint,
  key text,
  payload text not null,
  headers text,
  failures integer not null,
  due_at bigint,
  primary key (partition, position)
);

create index outbox_waiting_due on outbox_waiting (partition, due_at) where due_at is not null;

create index outbox_waiting_keys on outbox_waiting (partition, key, position);

create table outbox_dead_letters (
  letter bigint generated always as identity primary key,
  partition integer not null,
  id bigint not null,
  seq bigint not null,
  enqueued_at bigint not null,
  key text,
  payload text not null,
  headers text,
  failures integer not null,
  reason text not null,
  failed_at bigint not null,
  -- pending, reprocessing, resolved, discarded
  state text not null default 'pending',
  completed_at bigint,
  deadline bigint
);

create index outbox_dead_letters_failed on outbox_dead_letters (failed_at, letter);

create index outbox_dead_letters_state on outbox_dead_letters (state, failed_at, letter);

create index outbox_dead_letters_partition on outbox_dead_letters (partition, failed_at, letter);
