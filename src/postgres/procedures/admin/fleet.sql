-- All runtimes that are alive or died in the last days, and how much they own. Reads all unfinished
-- instances. Lists are JSON.
--
-- Settings: any plan.
create or replace function fleet()
  returns table (
    clock bigint,
    runtime integer,
    info text,
    state smallint,
    lease_until bigint,
    registered_at bigint,
    instances bigint,
    tasks bigint,
    workflows text,
    serves text,
    activities text
  )
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  return query
  with owned as (
    select r.owner, count(*) as count
    from runs as r
    where r.owner is not null
    group by r.owner
  ),
  owned_tasks as (
    select t.held_by, count(*) as count
    from tasks as t
    where t.held_by is not null
    group by t.held_by
  )
  select
    v_clock, t.runtime, t.info, t.state, t.lease_until, t.registered_at,
    coalesce(o.count, 0), coalesce(k.count, 0),
    (
      select coalesce(
        json_agg(json_build_object('name', w.name, 'version', w.version) order by w.name, w.version),
        '[]'
      )::text
      from workflows as w
      where w.workflow = any (t.workflows)
    ),
    t.serves, to_json(t.activities)::text
  from runtimes as t
  left join owned as o on o.owner = t.runtime
  left join owned_tasks as k on k.held_by = t.runtime
  where t.state <> :RUNTIME.closed
  order by t.registered_at, t.runtime;
end
$$;
