-- Registers a new runtime.
--
-- Settings: any plan.
create or replace function register(
  p_lease_ms bigint,
  p_info text,
  p_names text,
  p_versions text,
  p_count integer,
  -- The retention of each workflow, null for forever. No list from older versions: then the stored
  -- retentions stay.
  p_retentions bigint[] default null,
  -- The tags and activities that it serves, as JSON; null from older versions.
  p_serves text default null,
  -- The limits of the workflows without a version; the last is null for no limit. No lists from older
  -- versions: then the stored limits stay.
  p_concurrencies integer[] default null,
  p_rate_counts integer[] default null,
  p_rate_mss bigint[] default null,
  p_keyed boolean[] default null,
  out runtime integer,
  out server text,
  out clock bigint,
  out workflows integer[]
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_clock bigint;
begin
  workflows := workflow_numbers(p_names, p_versions, p_count);
  update workflows as w
  set retention_ms = g.retention_ms,
      -- What has ended so far was not noted while there was none: see note_earlier().
      noted_at = case
        when g.retention_ms is null then null
        when w.retention_ms is null then -1
        else w.noted_at
      end,
      noted_iid = case when w.retention_ms is null then 0 else w.noted_iid end
  from unnest(workflows, p_retentions) as g (workflow, retention_ms)
  where p_retentions is not null
    and w.workflow = g.workflow
    and w.retention_ms is distinct from g.retention_ms;
  perform keep_clock();
  v_clock := now_ms();
  if p_keyed is not null then
    perform set_limits(workflows, p_concurrencies, p_rate_counts, p_rate_mss, p_keyed, v_clock);
  end if;
  -- A runtime without a row counts as dead. Done here because each registration adds a row.
  delete from runtimes as r
  where r.state <> :RUNTIME.alive
    and r.lease_until < v_clock - 7 * 86400000::bigint;
  loop
    insert into runtimes (runtime, state, lease_until, registered_at, info, workflows, serves)
    values (
      1 + floor(random() * 2147483646)::integer, :RUNTIME.alive, v_clock + p_lease_ms, v_clock, p_info,
      workflows, p_serves
    )
    on conflict do nothing
    returning runtimes.runtime into runtime;
    exit when found;
  end loop;
  server := server_identity();
  clock := v_clock;
end
$$;
