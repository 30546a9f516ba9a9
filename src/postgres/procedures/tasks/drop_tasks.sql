-- Removes tasks, whatever their owner. Does not wait for one that is locked, since a transaction of a
-- user may keep it for long: it is recorded, and a tick removes it.
create or replace function drop_tasks(
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[]
)
  returns void
  language plpgsql
  volatile
as $$
begin
  with given as materialized (
    select t.*
    from unnest(p_iids, p_executions, p_commands) as g (iid, execution, command)
    cross join lateral (
      select t.number, t.iid, t.execution, t.command
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
    ) as t
  ),
  dropped as materialized (
    select t.*
    from given as g
    cross join lateral (
      select t.number, t.iid, t.execution, t.command
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update skip locked
    ) as t
  ),
  removed as (
    delete from tasks as t
    using dropped as d
    where t.iid = d.iid
      and t.execution = d.execution
      and t.command = d.command
  )
  insert into unwanted_tasks (number, iid, execution, command)
  select g.number, g.iid, g.execution, g.command
  from given as g
  where g.number <> all (array(select d.number from dropped as d))
  order by g.number
  on conflict do nothing;
end
$$;
