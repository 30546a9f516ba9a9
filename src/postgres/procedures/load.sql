-- Everything needed to run instances: themselves, the history of their execution after a certain
-- turn, their inbox. One statement, so that all of it is of one moment, and without locks.
create or replace function load(p_iids bigint[], p_afters integer[])
  returns table (
    part text,
    iid bigint,
    execution integer,
    number bigint,
    at bigint,
    first integer,
    count integer,
    text text,
    name text,
    version text
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
  with wanted as materialized (
    select i.iid, i.id, i.execution, w.name, w.version, p.after
    from unnest(p_iids, p_afters) as p (iid, after)
    join instances as i on i.iid = p.iid
    join workflows as w on w.workflow = i.workflow
  ),
  parts as (
    select
      1 as rank, 'instance' as part, w.iid, w.execution, null::bigint as number,
      null::bigint as at, null::integer as first, null::integer as count, w.id as text,
      w.name, w.version
    from wanted as w
    union all
    select
      2, 'turn', h.iid, h.execution, h.turn, h.at, h.first, h.count, h.events, null, null
    from wanted as w
    join history as h
      on h.iid = w.iid
      and h.execution = w.execution
      and h.turn > w.after
    union all
    select
      -- One kind so far: results. Their command stands in `first`.
      3, 'result', m.iid, m.execution, m.id, null, m.command, null, m.payload, null, null
    from wanted as w
    join inbox as m on m.iid = w.iid
  )
  select
    p.part, p.iid, p.execution, p.number, p.at, p.first, p.count, p.text, p.name, p.version
  from parts as p
  order by p.rank, p.iid, p.number;
end
$$;
