-- All instances that a runtime owns. Scans the unfinished instances: only for the rare case that
-- the runtime may own more than it has in memory.
--
-- Settings: any plan.
create or replace function owned(p_runtime integer)
  returns table (
    iid bigint,
    epoch integer,
    execution integer,
    turn integer,
    attempts integer,
    doing text
  )
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  return query
  select r.iid, r.epoch, last.execution, last.turn, r.attempts::integer, coalesce(r.doing, '')
  from runs as r
  cross join lateral last_turn(r.iid) as last
  where r.owner = p_runtime
  order by r.iid;
end
$$;
