// Never edited once released. Every name begins with outbox_, which is replaced with the prefix.

/** The tables of an outbox, a statement each. */
export const OUTBOX: readonly string[] = [
  // One row. Positions and ids are never used again, also after deletes.
  `create table outbox_store (
      version integer not null,
      next_position integer not null
    ) strict`,
  `insert into outbox_store (version, next_position) values (0, 1)`,

  `create table outbox_topics (
      topic integer primary key,
      name text not null unique,
      -- The number of its first partition; the others follow.
      first integer not null,
      partitions integer not null
    ) strict`,

  `create table outbox_partitions (
      partition integer primary key,
      topic integer not null,
      -- The runtime that delivers it at present, if any.
      owner integer,
      -- Raised by each claim.
      epoch integer not null default 0,
      -- Every message up to this position is done.
      cursor integer not null default 0,
      -- How many messages that is.
      seq integer not null default 0,
      -- How many messages after the cursor the owner is busy with, and how many that wait apart.
      handed integer not null default 0,
      handed_waiting integer not null default 0,
      -- Positions after the cursor that are done: JSON, a list.
      done text not null default '[]',
      -- Positions after the cursor that failed, and how often: JSON, a list of pairs.
      failures text not null default '[]',
      -- Positions after the cursor that are not delivered before a time, and when; nor is what is behind
      -- them: JSON, a list of pairs.
      later text not null default '[]',
      -- Nothing is delivered before this time.
      due_at integer
    ) strict`,
  // Which are the partitions of a topic?
  `create index outbox_partitions_topic on outbox_partitions (topic)`,

  // The payload stands last: what only counts or looks for times need not read it.
  `create table outbox_messages (
      partition integer not null,
      position integer not null,
      id integer not null,
      enqueued_at integer not null,
      expires_at integer,
      key text,
      headers text,
      payload text not null,
      primary key (partition, position)
    ) strict, without rowid`,

  // Messages that enter their partition later.
  `create table outbox_delayed (
      due_at integer not null,
      id integer not null,
      partition integer not null,
      enqueued_at integer not null,
      expires_at integer,
      key text,
      headers text,
      payload text not null,
      primary key (due_at, id)
    ) strict, without rowid`,
  // How many does a partition have?
  `create index outbox_delayed_of on outbox_delayed (partition, enqueued_at)`,

  // Dedupe keys of messages.
  `create table outbox_keys (
      topic integer not null,
      key text not null,
      id integer not null,
      at integer not null,
      primary key (topic, key)
    ) strict, without rowid`,
  // Which need not be remembered any longer?
  `create index outbox_keys_at on outbox_keys (at)`,

  // Messages that wait apart, so that messages with other keys can pass them. The first of each key has
  // a time at which it is tried again; those behind it have none.
  `create table outbox_waiting (
      partition integer not null,
      position integer not null,
      id integer not null,
      seq integer not null,
      enqueued_at integer not null,
      expires_at integer,
      failures integer not null,
      due_at integer,
      -- Whether the owner is busy with it.
      handed integer not null default 0,
      key text,
      headers text,
      payload text not null,
      primary key (partition, position)
    ) strict, without rowid`,
  // What is due, and which keys are there?
  `create index outbox_waiting_due on outbox_waiting (partition, due_at, position, key)
    where due_at is not null`,
  // Which message of a key is next?
  `create index outbox_waiting_of on outbox_waiting (partition, key) where key is not null`,
  // What is the owner busy with?
  `create index outbox_waiting_handed on outbox_waiting (partition) where handed = 1`,

  `create table outbox_dead_letters (
      letter integer primary key autoincrement,
      partition integer not null,
      id integer not null,
      seq integer not null,
      enqueued_at integer not null,
      failures integer not null,
      state text not null default 'pending'
        check (state in ('pending', 'reprocessing', 'resolved', 'discarded')),
      failed_at integer not null,
      completed_at integer,
      -- Until when a replay has it.
      deadline integer,
      reason text not null,
      key text,
      headers text,
      payload text not null
    ) strict`,
  // Newest first, of all states or of one.
  `create index outbox_dead_letters_failed on outbox_dead_letters (failed_at, partition)`,
  `create index outbox_dead_letters_in on outbox_dead_letters (state, failed_at, partition)`,
  // Which can be removed, and whose replay has missed its deadline?
  `create index outbox_dead_letters_ended on outbox_dead_letters (completed_at) where completed_at is not null`,
  `create index outbox_dead_letters_late on outbox_dead_letters (deadline) where deadline is not null`,
]
