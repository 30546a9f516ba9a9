-- Instances as people see them, for find() and look(). In the order given; `place` counts from 1,
-- and places of unknown ones are missing.
create or replace function instance_rows(p_iids bigint[])
  returns table (
    place bigint,
    iid bigint,
    id text,
    name text,
    version text,
    execution integer,
    status smallint,
    held boolean,
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text
  )
  language plpgsql
  stable
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
as $$
#variable_conflict use_column
begin
  return query
  select
    g.place, i.iid, i.id, w.name, w.version, i.execution, i.status, coalesce(r.held, false),
    r.wake_at, i.created_at, greatest(i.updated_at, last.at), i.finished_at,
    i.output, i.report
  from unnest(p_iids) with ordinality as g (iid, place)
  join instances as i on i.iid = g.iid
  join workflows as w on w.workflow = i.workflow
  left join runs as r on r.iid = i.iid
  cross join lateral last_turn(i.iid) as last
  order by g.place;
end
$$;
