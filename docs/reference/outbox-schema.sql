-- The tables and functions of an outbox with the usual prefix. To renew it:
--   npx vitest run src/postgres/outbox/manifest.test.ts -u

create table outbox_dead_letters (
  letter bigint not null generated always as identity,
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
  state text not null default 'pending'::text,
  completed_at bigint,
  deadline bigint
);
create index outbox_dead_letters_failed on outbox_dead_letters (failed_at, letter);
create index outbox_dead_letters_partition on outbox_dead_letters (partition, failed_at, letter);
create unique index outbox_dead_letters_pkey on outbox_dead_letters (letter);
create index outbox_dead_letters_state on outbox_dead_letters (state, failed_at, letter);

create table outbox_delayed (
  due_at bigint not null,
  id bigint not null,
  partition integer not null,
  enqueued_at bigint not null,
  ttl_ms bigint,
  key text,
  payload text not null,
  headers text
);
create unique index outbox_delayed_pkey on outbox_delayed (due_at, id);

create table outbox_keys (
  topic integer not null,
  key text collate "C" not null,
  id bigint not null,
  at bigint not null
);
create index outbox_keys_at on outbox_keys (at);
create unique index outbox_keys_pkey on outbox_keys (topic, key);

create table outbox_messages (
  partition integer not null,
  position bigint not null,
  id bigint,
  enqueued_at bigint not null,
  expires_at bigint,
  key text,
  payload text not null,
  headers text
) with (autovacuum_vacuum_scale_factor=0.05, autovacuum_vacuum_insert_scale_factor=0.2);
create unique index outbox_messages_pkey on outbox_messages (partition, "position");

create table outbox_partitions (
  partition integer not null,
  topic integer not null,
  owner integer,
  epoch bigint not null default 0,
  cursor bigint not null default 0,
  seq bigint not null default 0,
  handed integer not null default 0,
  handed_waiting integer not null default 0,
  done bigint[] not null default '{}'::bigint[],
  failed bigint[] not null default '{}'::bigint[],
  failures integer[] not null default '{}'::integer[],
  later bigint[] not null default '{}'::bigint[],
  later_at bigint[] not null default '{}'::bigint[],
  due_at bigint,
  has_waiting boolean not null default false
) with (fillfactor=50);
create unique index outbox_partitions_pkey on outbox_partitions (partition);

create table outbox_topics (
  topic integer not null generated always as identity,
  name text collate "C" not null,
  first integer not null,
  partitions integer not null,
  awake_until bigint not null default 0
);
create unique index outbox_topics_name_key on outbox_topics (name);
create unique index outbox_topics_pkey on outbox_topics (topic);

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
  due_at bigint
);
create index outbox_waiting_due on outbox_waiting (partition, due_at) where (due_at is not null);
create index outbox_waiting_keys on outbox_waiting (partition, key, "position");
create unique index outbox_waiting_pkey on outbox_waiting (partition, "position");

create sequence outbox_dead_letters_letter_seq as bigint cache 1;

create sequence outbox_positions as bigint cache 1;

create sequence outbox_topics_topic_seq as integer cache 1;

create function outbox_adders(p_last bigint, OUT keys bigint[], OUT positions bigint[])
  returns record;

create function outbox_all_topics()
  returns SETOF outbox_topics;

create function outbox_begin(p_runtime integer, p_partition integer, p_epoch bigint, p_cursor bigint, p_idle_limit_ms integer)
  returns boolean;

create function outbox_change_letters(p_letters bigint[], p_reason text)
  returns bigint;

create function outbox_cleanup_letters(p_from integer, p_to integer, p_limit bigint)
  returns bigint;

create function outbox_count_letters(p_from integer, p_to integer, p_state text)
  returns bigint;

create function outbox_discard_letters(p_from integer, p_to integer, p_limit bigint)
  returns bigint;

create function outbox_enqueue(p_token text, p_partitions text, p_topics text, p_delays text, p_ttls text, p_keys text, p_payloads text, p_headers text, p_dedupe_keys text, p_notify text, OUT answer text)
  returns text;

create function outbox_enter(p_partitions integer[])
  returns boolean;

create function outbox_find_letters(p_from integer, p_to integer, p_state text, p_limit bigint, p_after_failed_at bigint, p_after_letter bigint)
  returns SETOF outbox_dead_letters;

create function outbox_find_topics(p_names text, p_count text, OUT answer text)
  returns text;

create function outbox_lock_space()
  returns integer;

create function outbox_look(p_partitions integer[])
  returns TABLE(clock bigint, partition integer, due_at bigint, is_blocked boolean);

create function outbox_move_delayed(OUT clock bigint, OUT partitions integer[], OUT next_at bigint)
  returns record;

create function outbox_note_position(p_position bigint)
  returns void;

create function outbox_notify(p_partitions integer[], p_at bigint, p_clock bigint)
  returns void;

create function outbox_position_space()
  returns integer;

create function outbox_register_topics(p_names text, p_counts integer[])
  returns TABLE(topic integer, name text, first integer, partitions integer);

create function outbox_remove_done(p_limit integer, OUT removed integer)
  returns integer;

create function outbox_replay_letters(p_from integer, p_to integer, p_limit bigint, p_deadline_ms bigint)
  returns SETOF outbox_dead_letters;

create function outbox_requeue_letters(p_letters bigint[], OUT requeued integer[])
  returns integer[];

create function outbox_settle(p_partition integer, p_settle jsonb, p_clock bigint)
  returns void;

create function outbox_stats(p_topics integer[])
  returns TABLE(clock bigint, partition integer, depth bigint, ready bigint, delayed bigint, oldest_at bigint);

create function outbox_stay_awake(p_topics integer[], p_ms bigint, OUT until bigint)
  returns bigint;

create function outbox_steps(p_runtime integer, p_steps text)
  returns TABLE(step integer, message_position bigint, id bigint, seq bigint, key text, payload text, headers text, enqueued_at bigint, expires_at bigint, failures integer, is_due boolean, is_waiting boolean);

create function outbox_tick(p_runtime integer, p_lease_ms bigint)
  returns TABLE(is_alive boolean, clock bigint, delayed_at bigint, lease_ends_at bigint, partition integer, due_at bigint, is_blocked boolean);

create function outbox_tidy(p_keys_ms bigint, p_letters_ms bigint, OUT more boolean)
  returns boolean;

create function outbox_wake_others(p_partitions integer[])
  returns void;
