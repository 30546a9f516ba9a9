-- Read from a database that the migrations were applied to; a test keeps it so. To renew it:
--   npx vitest run src/postgres/schema/manifest.test.ts -u

create table absences (
  at bigint not null,
  iid bigint not null
);
create index absences_at on absences (at);
create unique index absences_pkey on absences (iid);

create table admissions (
  iid bigint not null,
  since bigint not null,
  workflow integer not null,
  priority smallint not null,
  state smallint not null,
  limit_key text collate "C"
);
create index admissions_admitted on admissions (workflow, limit_key) where (state = 2);
create index admissions_line on admissions (workflow, limit_key, priority DESC, since, iid) where (state = 1);
create unique index admissions_pkey on admissions (iid);

create table ended (
  at bigint not null,
  iid bigint not null,
  workflow integer not null,
  execution integer
);
create unique index ended_pkey on ended (workflow, at, iid);

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
  applied_at timestamp with time zone not null default now(),
  version text,
  works_with text
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
  reply_to text,
  at bigint,
  early boolean not null default false
);
create index inbox_early on inbox (iid) where (early AND ((id % (1021)::bigint) = 0));
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
  progress text,
  any_version integer,
  progress_version integer
) with (fillfactor=50);
create index instances_by_parent on instances (parent_iid, created_at, iid) where (parent_iid is not null);
create index instances_by_workflow on instances (any_version, created_at, iid) where (any_version is not null);
create index instances_children on instances (parent_iid, parent_execution, parent_command) where (parent_iid is not null);
create unique index instances_id_key on instances (id);
create unique index instances_pkey on instances (iid);

create table labels (
  label bigint not null,
  created_at bigint not null,
  iid bigint not null
);
create unique index labels_pkey on labels (label, created_at, iid);

create table limits (
  spent_until bigint not null,
  limit_key text collate "C" not null
);
create unique index limits_pkey on limits (limit_key);
create index limits_spent on limits (spent_until);

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
  held boolean not null default false,
  doing text,
  has_tasks boolean not null default false,
  due_at bigint,
  priority smallint,
  admitted boolean
) with (fillfactor=70);
create index runs_careful on runs (workflow, wake_at) where ((wake_at is not null) AND (attempts > 1));
create index runs_due on runs (workflow, COALESCE((priority)::integer, 0), wake_at) where ((wake_at is not null) AND (attempts < 2) AND (admitted IS not FALSE));
create index runs_held on runs (iid) where held;
create unique index runs_pkey on runs (iid);
create index runs_prioritized on runs (workflow) where ((priority is not null) AND (wake_at is not null) AND (attempts < 2) AND (admitted IS not FALSE));
create index runs_unadmitted on runs (workflow, wake_at) where ((wake_at is not null) AND (admitted = false));

create table runtimes (
  lease_until bigint not null,
  registered_at bigint not null,
  runtime integer not null,
  state smallint not null,
  info text not null,
  careful bigint,
  idle boolean not null default false,
  activities text[] not null default '{}'::text[],
  workflows integer[] not null default '{}'::integer[],
  serves text
) with (fillfactor=50);
create index runtimes_alive on runtimes (runtime) where (state = 1);
create unique index runtimes_pkey on runtimes (runtime);

create table schedules (
  anchor bigint not null,
  next_at bigint not null,
  wake_at bigint,
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
  name text collate "C" not null,
  revision text collate "C" not null,
  timing text not null,
  template text not null,
  last_id text,
  error text,
  running bigint[] not null default '{}'::bigint[]
) with (fillfactor=50);
create index schedules_due on schedules (wake_at) where (wake_at is not null);
create unique index schedules_pkey on schedules (name);
create index schedules_set on schedules (set_at) where (wake_at is not null);

create table sessions (
  touched_at bigint not null,
  runtime integer not null,
  session text collate "C" not null
);
create unique index sessions_pkey on sessions (session);
create index sessions_runtime on sessions (runtime);
create index sessions_touched on sessions (touched_at);

create table state (
  iid bigint not null,
  key text collate "C" not null,
  value text not null
);
create unique index state_pkey on state (iid, key);

create table tasks (
  number bigint not null generated always as identity,
  iid bigint not null,
  lane bigint,
  visible_at bigint,
  start_by bigint,
  beat_until bigint,
  rate_ms bigint,
  execution integer not null,
  command integer not null,
  held_by integer,
  attempts integer not null,
  concurrency integer,
  rate_count integer,
  deaths smallint not null default 0,
  activity text collate "C" not null,
  tag text collate "C" not null,
  session text collate "C",
  limit_key text collate "C",
  input text not null,
  options text not null,
  beat text,
  token bigint,
  held_since bigint,
  error text
) with (fillfactor=80);
create index tasks_careful on tasks (held_by) where ((held_by is not null) AND (deaths > 1));
create index tasks_delayed on tasks (activity, visible_at) where (visible_at is not null);
create index tasks_held on tasks (held_by, session) where (held_by is not null);
create index tasks_limited on tasks (limit_key) where ((held_by is not null) AND (limit_key is not null));
create unique index tasks_pkey on tasks (iid, execution, command);
create index tasks_ready on tasks (activity, tag, lane, number) where ((held_by IS NULL) AND (visible_at IS NULL) AND (lane is not null));
create index tasks_sessions on tasks (session) where (session is not null);
create index tasks_silent on tasks (activity, beat_until) where (beat_until is not null);

create table unsuccessful (
  created_at bigint not null,
  iid bigint not null,
  any_version integer not null,
  status smallint not null
);
create unique index unsuccessful_pkey on unsuccessful (any_version, status, created_at, iid);

create table unwanted_tasks (
  number bigint not null,
  iid bigint not null,
  execution integer not null,
  command integer not null
);
create unique index unwanted_tasks_pkey on unwanted_tasks (number);

create table workflows (
  workflow integer not null generated always as identity,
  name text collate "C" not null,
  version text collate "C" not null,
  retention_ms bigint,
  noted_at bigint,
  noted_iid bigint,
  concurrency integer,
  rate_count integer,
  rate_ms bigint,
  keyed boolean
);
create index workflows_limited on workflows (workflow) where (keyed is not null);
create unique index workflows_name_version_key on workflows (name, version);
create unique index workflows_pkey on workflows (workflow);
create index workflows_retained on workflows (workflow) where (retention_ms is not null);
create index workflows_unnoted on workflows (workflow) where (noted_at is not null);

create sequence clock_ahead as bigint cache 1;

create sequence clock_kept as bigint cache 1;

create sequence clock_seen as bigint cache 1;

create sequence inbox_id_seq as bigint cache 1;

create sequence instance_numbers as bigint cache 1;

create sequence tasks_number_seq as bigint cache 1;

create sequence workflows_workflow_seq as integer cache 1;

create function about_to(p_runtime integer, p_iid bigint, p_epoch integer, p_doing text, OUT owned boolean)
  returns boolean;

create function admit(p_workflow integer, p_limit_key text, p_iids bigint[], p_clock bigint)
  returns void;

create function admit_due(p_workflows integer[], p_hinted bigint[], p_clock bigint, OUT unkeyed bigint[], OUT has_more boolean)
  returns record;

create function all_lines(p_workflows integer[], p_from text, p_most integer)
  returns TABLE(workflow integer, limit_key text);

create function any_versions(p_workflows integer[])
  returns integer[];

create function apply_effects(p_clock bigint, p_done bigint[], p_effects text)
  returns void;

create function be_durable()
  returns void;

create function beat_tasks(p_runtime integer, p_iids bigint[], p_executions integer[], p_commands integer[], p_attempts integer[], p_silent_ms bigint[], p_told boolean[], p_details text, p_epochs integer[], p_locals text, p_tokens bigint[] DEFAULT NULL::bigint[], OUT wanted text)
  returns text;

create function begin_transaction(p_runtime integer, p_iid bigint, p_execution integer, p_command integer, p_epoch integer, p_attempt integer, p_idle_ms integer, p_turn integer DEFAULT NULL::integer, p_token bigint DEFAULT NULL::bigint, OUT xid text)
  returns text;

create function change_tasks(p_done bigint[], p_tasks text)
  returns void;

create function check_lines(p_workflows integer[], p_clock bigint)
  returns void;

create function choose_tasks(p_runtime integer, p_activities text[], p_tags text[], p_any_tag boolean, p_limit integer, p_most_sessions integer, p_session_idle_ms bigint, p_clock bigint, p_missed bigint[], OUT numbers bigint[], OUT iids bigint[], OUT executions integer[], OUT commands integer[], OUT sessions text[], OUT late boolean[], OUT limited boolean[], OUT opens_at bigint)
  returns record;

create function claim(p_runtime integer, p_workflows integer[], p_limit integer, p_hinted bigint[], OUT state text, OUT clock bigint, OUT iids bigint[], OUT epochs integer[], OUT executions integer[], OUT turns integer[], OUT attempts integer[], OUT doings text, OUT passed bigint[], OUT next_due bigint, OUT unkeyed bigint[], OUT has_more boolean)
  returns record;

create function claim_tasks(p_runtime integer, p_limit integer, p_most_sessions integer, p_session_idle_ms bigint, p_activities text, p_activity_count integer, p_tags text, p_tag_count integer, p_any_tag boolean, OUT state text, OUT clock bigint, OUT iids bigint[], OUT executions integer[], OUT commands integer[], OUT next_due bigint)
  returns record;

create function clock_after(p_kept bigint, p_wall bigint)
  returns bigint;

create function close_children(p_iids bigint[], p_executions integer[], p_commands integer[])
  returns void;

create function close_orphans(p_iids bigint[])
  returns void;

create function commit_batch(p_runtime integer, p_server text, p_iids bigint[], p_epochs integer[], p_executions integer[], p_turns integer[], p_ats bigint[], p_firsts integer[], p_counts integer[], p_events text, p_taken_iids bigint[], p_taken_ids bigint[], p_released_iids bigint[], p_wake_ats bigint[], p_held_iids bigint[], p_reports text, p_ended_iids bigint[], p_ended_statuses smallint[], p_ended_outputs text, p_continued text, p_starts text, p_effects text, p_tasks text, OUT state text, OUT clock bigint, OUT server text, OUT starts text, OUT turns text, OUT woken bigint[])
  returns record;

create function continue_instances(p_clock bigint, p_done bigint[], p_continued text)
  returns void;

create function depths(OUT clock bigint, OUT workflows text, OUT tasks text, OUT oldest_due_at bigint, OUT waiting bigint, OUT parked bigint)
  returns record;

create function doctor(p_long_ms bigint DEFAULT 60000)
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_connections()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_hints()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_indexes()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_instances()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_migrations()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_runtimes()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_settings()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_tables()
  returns TABLE(level text, what text, detail text, fix text);

create function doctor_vacuum(p_long_ms bigint)
  returns TABLE(level text, what text, detail text, fix text);

create function drop_tasks(p_iids bigint[], p_executions integer[], p_commands integer[])
  returns void;

create function due_schedules(p_limit integer, p_names text, p_count integer, OUT clock bigint, OUT schedules text, OUT next bigint)
  returns record;

create function end_instances(p_clock bigint, p_done bigint[], p_iids bigint[], p_statuses smallint[], p_outputs text)
  returns bigint[];

create function end_statuses(p_statuses jsonb)
  returns smallint[];

create function enter(p_runtime integer)
  returns boolean;

create function enter_within(p_token text, OUT isolation text)
  returns text;

create function executions(p_iid bigint)
  returns TABLE(execution integer, started_at bigint, last_turn_at bigint, turns bigint, events bigint, bytes bigint);

create function fail_schedule(p_name text, p_revision text, p_due bigint, p_error text)
  returns void;

create function find(p_ids text, p_count integer)
  returns TABLE(place bigint, iid bigint, id text, name text, version text, execution integer, status smallint, held boolean, scheduled boolean, wake_at bigint, created_at bigint, updated_at bigint, finished_at bigint, output text, report text, parent_iid bigint, parent_id text, parent_execution integer, parent_command integer, on_close smallint, labels text, progress text, mail bigint, progress_version integer);

create function find_tasks(p_activity text, p_tag text, p_session text, p_instance text, p_state text, p_after_iid bigint, p_after_execution integer, p_after_command integer, p_limit integer, p_scan integer)
  returns TABLE(iid bigint, execution integer, command integer, id text, workflow text, activity text, tag text, session text, session_of integer, attempts integer, deaths smallint, owner integer, owned_since bigint, visible_at bigint, error text, next_iid bigint, next_execution integer, next_command integer);

create function find_within(p_id text, OUT answer text)
  returns text;

create function finish_tasks(p_runtime integer, p_iids bigint[], p_executions integer[], p_commands integer[], p_attempts integer[], p_ends smallint[], p_delays bigint[], p_payloads text, p_tokens bigint[] DEFAULT NULL::bigint[], OUT verdicts text, OUT owners integer[])
  returns record;

create function finish_transaction(p_xid text, p_runtime integer, p_iid bigint, p_execution integer, p_command integer, p_epoch integer, p_attempt integer, p_payload text, p_turn integer DEFAULT NULL::integer, p_token bigint DEFAULT NULL::bigint, OUT verdict text)
  returns text;

create function fire_schedules(p_names text, p_revisions text, p_dues bigint[], p_missed bigint[], p_ats bigint[], p_next_ats bigint[], p_set_ats bigint[], p_overlaps smallint[], p_passed bigint[], p_nexts_after_passed bigint[], p_starts text[], p_iids bigint[], p_ids text, OUT letters text)
  returns text;

create function flags(p_iids bigint[], p_true bigint[])
  returns text;

create function fleet()
  returns TABLE(clock bigint, runtime integer, info text, state smallint, lease_until bigint, registered_at bigint, instances bigint, tasks bigint, workflows text, serves text, activities text);

create function free_forgotten_tasks()
  returns void;

create function free_runs(p_runtimes integer[], p_clock bigint, p_failed boolean)
  returns void;

create function free_tasks(p_runtimes integer[], p_failed boolean)
  returns void;

create function has_limits()
  returns boolean;

create function has_lines()
  returns boolean;

create function has_quarantined(p_runtime integer)
  returns boolean;

create function has_unadmitted()
  returns boolean;

create function held_tasks(p_runtime integer, p_iids bigint[], p_executions integer[], p_commands integer[])
  returns TABLE(iid bigint, execution integer, command integer, id text, workflow text, activity text, input text, tag text, session text, options text, attempt integer, deaths smallint, beat text, token bigint);

create function hint_channel(p_to text)
  returns text;

create function holding(p_runtime integer)
  returns TABLE(iid bigint, execution integer, command integer, attempt integer);

create function iids_of(p_ids text, p_count integer)
  returns bigint[];

create function import_instance(p_iid bigint, p_id text, p_workflow integer, p_labels text, p_executions integer[], p_turns integer[], p_ats bigint[], p_firsts integer[], p_counts integer[], p_events text, p_state_count integer, p_state_keys text, p_state_values text, p_limit_key text DEFAULT NULL::text, OUT verdict text)
  returns text;

create function insert_starts(p_owner integer, p_clock bigint, p_starts text, OUT letters text, OUT born bigint[])
  returns record;

create function insert_tasks(p_done bigint[], p_lists text[], p_held_by integer)
  returns void;

create function instance_rows(p_iids bigint[])
  returns TABLE(place bigint, iid bigint, id text, name text, version text, execution integer, status smallint, held boolean, scheduled boolean, wake_at bigint, created_at bigint, updated_at bigint, finished_at bigint, output text, report text, parent_iid bigint, parent_id text, parent_execution integer, parent_command integer, on_close smallint, labels text, progress text, mail bigint, progress_version integer);

create function is_claimable(p_runtime integer, p_workflows integer[], p_clock bigint)
  returns boolean;

create function is_served(p_workflow integer, p_clock bigint)
  returns boolean;

create function keep_clock()
  returns void;

create function keep_unstarted(p_iids bigint[], p_clock bigint)
  returns boolean;

create function label_key(p_name text, p_value text)
  returns bigint;

create function last_turn(p_iid bigint, OUT execution integer, OUT turn integer, OUT at bigint, OUT next_event integer)
  returns record;

create function leave_lines(p_iids bigint[], p_clock bigint)
  returns bigint[];

create function limit_left(p_limit_key text, p_concurrency integer, p_rate_count integer, p_rate_ms bigint, p_clock bigint, OUT most bigint, OUT opens_at bigint)
  returns record;

create function limit_of(p_workflow integer)
  returns TABLE(workflow integer, concurrency integer, rate_count integer, rate_ms bigint, keyed boolean);

create function limit_share(p_rate_count integer, p_rate_ms bigint)
  returns bigint;

create function line_lock(p_workflow integer, p_limit_key text)
  returns integer;

create function line_up(p_clock bigint, p_iids bigint[], p_limit_keys text[])
  returns void;

create function line_up_late(p_iids bigint[], p_clock bigint)
  returns bigint[];

create function lines_of(p_iids bigint[])
  returns TABLE(workflow integer, limit_key text, iids bigint[]);

create function load(p_iids bigint[], p_afters integer[])
  returns TABLE(part text, iid bigint, execution integer, number bigint, at bigint, first integer, count integer, text text, name text, version text, reply_to text, parked boolean);

create function lock_lines(p_workflows integer[], p_limit_keys text[], p_exclusive boolean)
  returns void;

create function lock_owners(p_iids bigint[])
  returns void;

create function lock_space()
  returns integer;

create function may_take_quarantined(p_runtime integer)
  returns boolean;

create function may_transact(p_runtime integer, p_iid bigint, p_execution integer, p_command integer, p_epoch integer, p_attempt integer, p_turn integer, p_token bigint)
  returns boolean;

create function move_schedule(p_name text, p_revision text, p_due bigint, p_next_at bigint, p_set_at bigint, p_paused boolean, OUT moved boolean)
  returns boolean;

create function next_judgement(p_workflows integer[], p_after bigint)
  returns bigint;

create function next_schedule_at(p_clock bigint)
  returns bigint;

create function next_task_at(p_activities text[], p_tags text[], p_any_tag boolean)
  returns bigint;

create function next_wake(p_workflows integer[], p_after bigint DEFAULT '-1'::integer)
  returns bigint;

create function note_continued(p_clock bigint, p_done bigint[], p_iids bigint[], p_executions integer[], p_workflows integer[])
  returns void;

create function note_earlier(p_limit integer)
  returns boolean;

create function note_ended(p_clock bigint, p_iids bigint[])
  returns void;

create function note_labels(p_clock bigint, p_born bigint[], p_iids bigint[], p_labels text[])
  returns void;

create function note_unsuccessful(p_iids bigint[])
  returns void;

create function now_ms()
  returns bigint;

create function open_lanes(p_runtime integer, p_activities text[], p_tags text[], p_any_tag boolean, p_limit integer, p_most_sessions integer, p_session_idle_ms bigint, p_clock bigint)
  returns TABLE(activity text, tag text, lane bigint, most bigint, limited_to bigint, opens_at bigint);

create function own_mail(p_runtime integer)
  returns bigint[];

create function owned(p_runtime integer)
  returns TABLE(iid bigint, epoch integer, execution integer, turn integer, attempts integer, doing text);

create function owned_task_flags(p_runtime integer, p_iids bigint[], p_executions integer[], p_commands integer[], p_attempts integer[], p_tokens bigint[] DEFAULT NULL::bigint[])
  returns text;

create function park_mail(p_clock bigint)
  returns boolean;

create function park_unread(p_iids bigint[], p_clock bigint)
  returns bigint[];

create function post(p_ids text, p_kinds smallint[], p_names text, p_payloads text, p_reply_tos text, p_keys text, p_capacities integer[], p_iids bigint[], OUT verdicts text, OUT iids bigint[], OUT owners integer[])
  returns record;

create function post_any(p_ids text, p_kinds smallint[], p_names text, p_payloads text, p_reply_tos text, p_keys text, p_capacities integer[], p_iids bigint[], p_clock bigint, OUT verdicts text, OUT iids bigint[], OUT owners integer[])
  returns record;

create function post_nowait(p_ids text, p_kinds smallint[], p_names text, p_payloads text, p_reply_tos text, p_keys text, p_capacities integer[], p_iids bigint[], OUT verdicts text, OUT iids bigint[], OUT owners integer[])
  returns record;

create function post_skip_locked(p_ids text, p_kinds smallint[], p_names text, p_payloads text, p_reply_tos text, p_keys text, p_capacities integer[], p_iids bigint[], OUT verdicts text, OUT iids bigint[], OUT owners integer[])
  returns record;

create function post_within(p_token text, p_ids text, p_kinds text, p_names text, p_payloads text, p_reply_tos text, p_keys text, p_capacities text, p_iids text, p_tell text, OUT answer text)
  returns text;

create function prune(p_iids bigint[], p_keep integer, p_ended_until bigint, OUT pruned bigint)
  returns bigint;

create function put_schedule(p_name text, p_revision text, p_workflow integer, p_timing text, p_template text, p_next_at bigint, p_anchor bigint, OUT outcome text)
  returns text;

create function ranks_of(p_workflows integer[])
  returns TABLE(workflow integer, rank integer);

create function rate_left(p_limit_key text, p_rate_count integer, p_rate_ms bigint, p_clock bigint, OUT most bigint, OUT opens_at bigint)
  returns record;

create function rate_spent_until(p_stored bigint, p_rate_count integer, p_rate_ms bigint, p_clock bigint)
  returns bigint;

create function read_schedules(p_names text, p_count integer, OUT schedules text)
  returns text;

create function read_state(p_ids text, p_keys text, p_count integer)
  returns TABLE(place bigint, value text);

create function ready_lanes(p_activities text[], p_tags text[], p_any_tag boolean, p_from bigint, p_most integer)
  returns TABLE(activity text, tag text, lane bigint, number bigint, deaths smallint, session text, limit_key text, concurrency integer, rate_count integer, rate_ms bigint);

create function reclaim_dead(p_clock bigint, p_self integer)
  returns void;

create function register(p_lease_ms bigint, p_info text, p_names text, p_versions text, p_count integer, p_retentions bigint[] DEFAULT NULL::bigint[], p_serves text DEFAULT NULL::text, p_concurrencies integer[] DEFAULT NULL::integer[], p_rate_counts integer[] DEFAULT NULL::integer[], p_rate_mss bigint[] DEFAULT NULL::bigint[], p_keyed boolean[] DEFAULT NULL::boolean[], OUT runtime integer, OUT server text, OUT clock bigint, OUT workflows integer[])
  returns record;

create function remove(p_ids text, p_count integer, OUT removed bigint)
  returns bigint;

create function remove_expired(p_since bigint, p_limit integer, OUT looked_at integer, OUT reached bigint)
  returns record;

create function remove_rows(p_iids bigint[])
  returns void;

create function remove_schedule(p_name text, OUT removed boolean)
  returns boolean;

create function remove_tasks(p_iids bigint[], p_executions integer[])
  returns void;

create function remove_trees(p_iids bigint[], p_together boolean, OUT verdicts text, OUT counts bigint[])
  returns record;

create function remove_undelivered()
  returns bigint;

create function remove_unstarted(p_clock bigint)
  returns bigint;

create function renew_lease(p_runtime integer, p_lease_ms bigint, OUT is_alive boolean, OUT clock bigint)
  returns record;

create function replies_to(p_tos text, p_count integer)
  returns TABLE(place bigint, value text);

create function require_fresh_snapshots()
  returns void;

create function reserve(p_count bigint, OUT first bigint)
  returns bigint;

create function resolve_versions(p_runtime integer, p_iids bigint[], p_workflows integer[], p_clock bigint)
  returns bigint[];

create function resume(p_ids text, p_count integer, OUT resumed bigint)
  returns bigint;

create function schedule_json(p_schedule schedules)
  returns json;

create function search(p_query text, p_after_at bigint, p_after_iid bigint, p_limit integer, p_scan integer, OUT iids bigint[], OUT matched bigint, OUT next_at bigint, OUT next_iid bigint)
  returns record;

create function search_filter(p_query jsonb)
  returns text;

create function search_source(p_query jsonb, OUT parts integer, OUT each_part text, OUT candidates text, OUT rows text, OUT filter text, OUT is_few boolean)
  returns record;

create function send(p_iids bigint[], p_kinds smallint[], p_executions integer[], p_commands integer[], p_payloads text, p_turns integer[] DEFAULT NULL::integer[], p_ats bigint[] DEFAULT NULL::bigint[])
  returns void;

create function server_identity()
  returns text;

create function server_since()
  returns bigint;

create function session_free_at(p_runtime integer, p_session text, p_idle_ms bigint)
  returns bigint;

create function set_limit_keys(p_iids bigint[], p_limit_keys text, OUT changed bigint)
  returns bigint;

create function set_limits(p_workflows integer[], p_concurrencies integer[], p_rate_counts integer[], p_rate_mss bigint[], p_keyed boolean[], p_clock bigint)
  returns void;

create function shelve_tasks(p_iids bigint[], p_executions integer[], p_commands integer[], p_late boolean[])
  returns void;

create function spend_limits(p_limit_keys text[], p_rate_counts integer[], p_rate_mss bigint[], p_clock bigint)
  returns void;

create function split_lists(p_lists text, p_count integer)
  returns text[];

create function split_texts(p_texts text, p_count integer)
  returns text[];

create function start_batch(p_starts text, p_effects text, p_tasks text DEFAULT ''::text, OUT starts text)
  returns text;

create function start_nowait(p_starts text, p_effects text, p_tasks text, OUT starts text)
  returns text;

create function start_skip_locked(p_runtime integer, p_server text, p_starts text[], p_effects text[], p_tasks text[], OUT state text, OUT clock bigint, OUT server text, OUT starts text)
  returns record;

create function start_within(p_token text, p_starts text, p_effects text, p_tell text, OUT answer text)
  returns text;

create function stranded(p_workflows integer[], p_named text[])
  returns bigint[];

create function suspend(p_ids text, p_count integer, p_report text, OUT suspended text)
  returns text;

create function sweep(p_clock bigint)
  returns void;

create function sweep_tasks()
  returns void;

create function take_limit(p_limit_key text, p_concurrency integer, p_rate_count integer, p_rate_ms bigint, p_clock bigint, OUT most bigint, OUT opens_at bigint)
  returns record;

create function take_sessions(p_runtime integer, p_sessions text[], p_idle_ms bigint, p_clock bigint)
  returns text[];

create function take_tasks(p_runtime integer, p_iids bigint[], p_executions integer[], p_commands integer[], p_sessions text[], p_clock bigint, OUT numbers bigint[], OUT iids bigint[], OUT executions integer[], OUT commands integer[])
  returns record;

create function task_lane(p_session text, p_limit_key text, p_deaths integer)
  returns bigint;

create function tell_hints(p_teller integer, p_has_room boolean, p_mail bigint[], p_due bigint[], p_activities text, p_counts integer[], p_pinned boolean[], p_tos text, p_payloads text, p_count integer, OUT others boolean)
  returns boolean;

create function tell_mail(p_ids text, p_count integer)
  returns void;

create function tell_parents(p_iids bigint[])
  returns void;

create function tell_tasks(p_activities text[], p_counts integer[], p_pinned boolean[], p_teller integer)
  returns void;

create function tell_within(p_iids bigint[], p_due boolean)
  returns void;

create function tell_work(p_iids bigint[], p_due boolean, p_teller integer, p_has_room boolean)
  returns void;

create function terminate(p_ids text, p_outputs text, p_events text, p_count integer, OUT terminated text, OUT mail bigint[], OUT had_tasks boolean)
  returns record;

create function tick(p_runtime integer, p_lease_ms bigint, p_workflows integer[], p_activities text, p_activity_count integer, p_tags text, p_tag_count integer, p_any_tag boolean, p_held_iids bigint[], p_held_executions integer[], p_held_commands integer[], p_held_attempts integer[], p_idle boolean, p_unknown text, p_unknown_count integer, OUT state text, OUT clock bigint, OUT server text, OUT mail bigint[], OUT owned bigint, OUT claimable boolean, OUT next_due bigint, OUT next_task bigint, OUT wanted text, OUT helped text, OUT stranded bigint[], OUT late_messages bigint, OUT early_messages bigint, OUT soon boolean, OUT next_schedule bigint)
  returns record;

create function touch_sessions(p_runtime integer, p_sessions text[], p_clock bigint)
  returns void;

create function tree(p_iid bigint, p_from_root boolean, p_limit integer, OUT iids bigint[])
  returns bigint[];

create function trigger_schedule(p_name text, p_revision text, p_start text, p_iid bigint, p_id text, OUT letter text)
  returns text;

create function try_lock_name(p_table regclass, p_name text)
  returns boolean;

create function turns_of(p_iid bigint, p_execution integer)
  returns TABLE(execution integer, number integer, at bigint, first integer, count integer, text text);

create function turns_page(p_iid bigint, p_execution integer, p_after integer, p_limit integer)
  returns TABLE(execution integer, number integer, at bigint, first integer, count integer, text text);

create function turns_within(p_iid text, p_execution text, OUT answer text)
  returns text;

create function unfinished(p_iids bigint[])
  returns bigint[];

create function unpark_started()
  returns void;

create function unregister(p_runtime integer)
  returns void;

create function unstarted_is_full()
  returns boolean;

create function usage(p_iid bigint, OUT state_keys bigint, OUT state_bytes bigint, OUT messages bigint, OUT message_bytes bigint, OUT tasks bigint)
  returns record;

create function verify(p_runtime integer, p_iids bigint[], p_epochs integer[], p_executions integer[], p_turns integer[], OUT server text, OUT same text)
  returns record;

create function version_rank(p_version text)
  returns text[];

create function wake_line(p_workflow integer, p_limit_key text, p_at bigint)
  returns bigint;

create function wake_lines(p_workflows integer[], p_limit_keys text[], p_clock bigint)
  returns bigint[];

create function wake_tasks(p_activities text[], p_tags text[], p_any_tag boolean, p_clock bigint)
  returns boolean;

create function wake_unadmitted(p_iids bigint[])
  returns void;

create function wall_ms()
  returns bigint;

create function whereabouts(p_iid bigint, OUT owner text, OUT tasks text, OUT runtimes text, OUT limited text)
  returns record;

create function workflow_numbers(p_names text, p_versions text, p_count integer, OUT numbers integer[])
  returns integer[];
