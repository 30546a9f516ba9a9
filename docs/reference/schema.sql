-- Read from a database that the migrations were applied to; a test keeps it so. To renew it:
--   npx vitest run src/postgres/schema.test.ts -u

create table history (
  iid bigint not null,
  at bigint not null,
  execution integer not null,
  turn integer not null,
  epoch integer not null,
  first integer not null,
  count integer not null,
  events text not null
);
create unique index history_pkey on history (iid, execution, turn);

create table holdfast_migrations (
  name text collate "C" not null,
  checksum text not null,
  applied_at timestamp with time zone not null default now()
);
create unique index holdfast_migrations_pkey on holdfast_migrations (name);

create table inbox (
  id bigint not null generated always as identity,
  iid bigint not null,
  execution integer,
  command integer,
  kind smallint not null,
  parked boolean not null default false,
  payload text not null,
  name text collate "C",
  reply_to text
);
create index inbox_mail on inbox (iid) where (not parked);
create unique index inbox_pkey on inbox (iid, id);
create unique index inbox_results on inbox (iid, execution, command) where (command is not null);
create index inbox_waiting on inbox (iid, kind, name) where (kind > 2);

create table instances (
  iid bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  finished_at bigint,
  workflow integer not null,
  execution integer not null,
  status smallint not null,
  id text collate "C" not null,
  output text,
  report text,
  parent_iid bigint,
  parent_execution integer,
  parent_command integer,
  on_close smallint,
  parent_id text,
  labels text,
  progress text
) with (fillfactor=50);
create index instances_children on instances (parent_iid, parent_execution, parent_command) where (parent_iid is not null);
create unique index instances_id_key on instances (id);
create unique index instances_pkey on instances (iid);

create table posted (
  iid bigint not null,
  key text collate "C" not null
);
create unique index posted_pkey on posted (iid, key);

create table replies (
  at bigint not null,
  reply_to text collate "C" not null,
  payload text not null
);
create index replies_at on replies (at);
create unique index replies_pkey on replies (reply_to);

create table runs (
  iid bigint not null,
  wake_at bigint,
  workflow integer not null,
  owner integer,
  epoch integer not null,
  attempts smallint not null default 0,
  held boolean not null default false
) with (fillfactor=70);
create index runs_due on runs (workflow, wake_at) where (wake_at is not null);
create unique index runs_pkey on runs (iid);

create table runtimes (
  lease_until bigint not null,
  registered_at bigint not null,
  runtime integer not null,
  state smallint not null,
  info text not null
) with (fillfactor=50);
create index runtimes_alive on runtimes (runtime) where (state = 1);
create unique index runtimes_pkey on runtimes (runtime);

create table state (
  iid bigint not null,
  key text collate "C" not null,
  value text not null
);
create unique index state_pkey on state (iid, key);

create table workflows (
  workflow integer not null generated always as identity,
  name text collate "C" not null,
  version text collate "C" not null
);
create unique index workflows_name_version_key on workflows (name, version);
create unique index workflows_pkey on workflows (workflow);

create sequence inbox_id_seq as bigint cache 1;

create sequence instance_numbers as bigint cache 1;

create sequence workflows_workflow_seq as integer cache 1;

create function apply_effects(p_clock bigint, p_done bigint[], p_effects text)
  returns void;

create function be_durable()
  returns void;

create function bury_expired(p_clock bigint)
  returns void;

create function claim(p_runtime integer, p_workflows integer[], p_limit integer, p_hinted bigint[], OUT state text, OUT clock bigint, OUT iids bigint[], OUT epochs integer[], OUT executions integer[], OUT turns integer[], OUT attempts integer[])
  returns record;

create function close_children(p_iids bigint[], p_executions integer[], p_commands integer[])
  returns void;

create function close_orphans(p_iids bigint[])
  returns void;

create function commit_batch(p_runtime integer, p_server text, p_iids bigint[], p_epochs integer[], p_executions integer[], p_turns integer[], p_ats bigint[], p_firsts integer[], p_counts integer[], p_events text, p_taken_iids bigint[], p_taken_ids bigint[], p_released_iids bigint[], p_wake_ats bigint[], p_held_iids bigint[], p_reports text, p_ended_iids bigint[], p_ended_statuses smallint[], p_ended_outputs text, p_continued text, p_starts text, p_effects text, OUT state text, OUT clock bigint, OUT server text, OUT starts text, OUT turns text)
  returns record;

create function continue_instances(p_clock bigint, p_done bigint[], p_continued text)
  returns void;

create function end_instances(p_clock bigint, p_done bigint[], p_iids bigint[], p_statuses smallint[], p_outputs text)
  returns void;

create function enter(p_runtime integer)
  returns boolean;

create function find(p_ids text, p_count integer)
  returns TABLE(place bigint, iid bigint, id text, name text, version text, execution integer, status smallint, held boolean, scheduled boolean, wake_at bigint, created_at bigint, updated_at bigint, finished_at bigint, output text, report text, parent_iid bigint, parent_id text, parent_execution integer, parent_command integer, on_close smallint, labels text, progress text, mail bigint);

create function free_runs(p_runtimes integer[], p_clock bigint, p_failed boolean)
  returns void;

create function iids_of(p_ids text, p_count integer)
  returns bigint[];

create function import_instance(p_iid bigint, p_id text, p_workflow integer, p_labels text, p_executions integer[], p_turns integer[], p_ats bigint[], p_firsts integer[], p_counts integer[], p_events text, p_state_count integer, p_state_keys text, p_state_values text, OUT verdict text)
  returns text;

create function insert_starts(p_owner integer, p_clock bigint, p_starts text, OUT letters text, OUT born bigint[])
  returns record;

create function instance_rows(p_iids bigint[])
  returns TABLE(place bigint, iid bigint, id text, name text, version text, execution integer, status smallint, held boolean, scheduled boolean, wake_at bigint, created_at bigint, updated_at bigint, finished_at bigint, output text, report text, parent_iid bigint, parent_id text, parent_execution integer, parent_command integer, on_close smallint, labels text, progress text, mail bigint);

create function is_claimable(p_workflows integer[], p_clock bigint)
  returns boolean;

create function last_turn(p_iid bigint, OUT execution integer, OUT turn integer, OUT at bigint, OUT next_event integer)
  returns record;

create function load(p_iids bigint[], p_afters integer[])
  returns TABLE(part text, iid bigint, execution integer, number bigint, at bigint, first integer, count integer, text text, name text, version text, reply_to text, parked boolean);

create function lock_owners(p_iids bigint[])
  returns void;

create function lock_space()
  returns integer;

create function now_ms()
  returns bigint;

create function own_mail(p_runtime integer)
  returns bigint[];

create function owned(p_runtime integer)
  returns TABLE(iid bigint, epoch integer, execution integer, turn integer, attempts integer);

create function post(p_ids text, p_kinds smallint[], p_names text, p_payloads text, p_reply_tos text, p_keys text, p_capacities integer[], p_iids bigint[], OUT verdicts text, OUT iids bigint[], OUT owners integer[])
  returns record;

create function read_state(p_ids text, p_keys text, p_count integer)
  returns TABLE(place bigint, value text);

create function register(p_lease_ms bigint, p_info text, p_names text, p_versions text, p_count integer, OUT runtime integer, OUT server text, OUT clock bigint, OUT workflows integer[])
  returns record;

create function remove(p_ids text, p_count integer, OUT removed bigint)
  returns bigint;

create function replies_to(p_tos text, p_count integer)
  returns TABLE(place bigint, value text);

create function require_fresh_snapshots()
  returns void;

create function reserve(p_count bigint, OUT first bigint)
  returns bigint;

create function resume(p_ids text, p_count integer, OUT resumed bigint)
  returns bigint;

create function send(p_iids bigint[], p_kinds smallint[], p_executions integer[], p_commands integer[], p_payloads text)
  returns void;

create function server_identity()
  returns text;

create function split_lists(p_lists text, p_count integer)
  returns text[];

create function split_texts(p_texts text, p_count integer)
  returns text[];

create function start_batch(p_starts text, p_effects text, OUT starts text)
  returns text;

create function suspend(p_ids text, p_count integer, p_report text, OUT suspended text)
  returns text;

create function sweep(p_clock bigint)
  returns void;

create function tell_parents(p_iids bigint[])
  returns void;

create function terminate(p_ids text, p_outputs text, p_events text, p_count integer, OUT terminated text)
  returns text;

create function tick(p_runtime integer, p_lease_ms bigint, p_workflows integer[], OUT state text, OUT clock bigint, OUT server text, OUT mail bigint[], OUT owned bigint, OUT claimable boolean, OUT next_due bigint)
  returns record;

create function truths(p_iids bigint[], p_true bigint[])
  returns text;

create function turns_of(p_iid bigint, p_execution integer)
  returns TABLE(execution integer, number integer, at bigint, first integer, count integer, text text);

create function unregister(p_runtime integer)
  returns void;

create function verify(p_runtime integer, p_iids bigint[], p_epochs integer[], p_executions integer[], p_turns integer[], OUT server text, OUT same text)
  returns record;

create function workflow_numbers(p_names text, p_versions text, p_count integer, OUT numbers integer[])
  returns integer[];
