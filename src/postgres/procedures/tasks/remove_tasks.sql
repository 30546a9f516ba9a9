-- Removes the tasks of ended instances, or of the executions before the given ones.
create or replace function remove_tasks(p_iids bigint[], p_executions integer[])
  returns void
  language plpgsql
  volatile
as $$
declare
  v_iids bigint[];
  v_executions integer[];
  v_commands integer[];
begin
  select array_agg(t.iid), array_agg(t.execution), array_agg(t.command)
  into v_iids, v_executions, v_commands
  from unnest(p_iids, p_executions) as g (iid, execution)
  cross join lateral (
    select t.iid, t.execution, t.command
    from tasks as t
    where t.iid = g.iid
      and t.execution < coalesce(g.execution, 2147483647)
    -- Keeps the order of the join: from the few that are given to the large table.
    offset 0
  ) as t;
  if v_iids is not null then
    perform drop_tasks(v_iids, v_executions, v_commands);
  end if;
end
$$;
