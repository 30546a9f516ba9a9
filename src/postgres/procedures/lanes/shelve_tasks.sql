-- Takes tasks that were not started in time out of their lanes, so that no claim reads them again.
create or replace function shelve_tasks(
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_late boolean[]
)
  returns void
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  with late as materialized (
    select t.iid, t.execution, t.command
    from unnest(p_iids, p_executions, p_commands, p_late) as g (iid, execution, command, late)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select t.iid, t.execution, t.command, t.held_by, t.attempts
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update skip locked
    ) as t
    where g.late
      and t.held_by is null
      and t.attempts = 0
  )
  update tasks as t
  set lane = null
  from late as l
  where t.iid = l.iid
    and t.execution = l.execution
    and t.command = l.command;
end
$$;
