-- Removes the histories of earlier executions: all but the last p_keep of each instance, and of these
-- only those whose last turn was before p_ended_until. Returns how many executions were removed.
--
-- Needs no lock: the number of an execution only grows. An owner that continues as new meanwhile makes
-- the current execution an earlier one, which a later call removes.
create or replace function prune(
  p_iids bigint[],
  p_keep integer,
  p_ended_until bigint,
  out pruned bigint
)
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  perform require_fresh_snapshots();
  with old as materialized (
    select i.iid, e.execution
    from unnest(p_iids) as g (iid)
    cross join lateral (
      select i.iid, i.execution
      from instances as i
      where i.iid = g.iid
        and i.execution > p_keep
      limit 1
    ) as i
    cross join lateral (
      select h.execution, max(h.at) as last_at
      from history as h
      where h.iid = i.iid
        and h.execution <= i.execution - greatest(p_keep, 1)
      group by h.execution
    ) as e
    where p_ended_until is null
      or e.last_at < p_ended_until
  ),
  removed as (
    delete from history as h
    using old as o
    where h.iid = o.iid
      and h.execution = o.execution
  )
  select count(*)
  into pruned
  from old;
end
$$;
