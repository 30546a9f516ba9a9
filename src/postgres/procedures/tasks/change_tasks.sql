-- Adds the tasks that turns ask for, and removes those that they drop, whatever their owner: for the
-- instances in p_done. p_tasks are lists: those of insert_tasks(), then instances, executions (null for
-- the current one) and commands of dropped tasks; last the tokens of the tasks, which older versions do
-- not send.
create or replace function change_tasks(p_done bigint[], p_tasks text)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_lists text[] := split_lists(
    p_tasks, case when cardinality(string_to_array(p_tasks, e'\x02')) = 18 then 18 else 19 end
  );
  v_iids bigint[];
  v_executions integer[];
  v_commands integer[];
begin
  if v_lists[1] <> '{}' then
    perform insert_tasks(p_done, v_lists[1:15] || v_lists[19], null);
  end if;

  -- Last, since a turn may drop what it asked for.
  if v_lists[16] <> '{}' then
    select array_agg(g.iid), array_agg(coalesce(g.execution, i.execution)), array_agg(g.command)
    into v_iids, v_executions, v_commands
    from unnest(v_lists[16]::bigint[], v_lists[17]::integer[], v_lists[18]::integer[])
      as g (iid, execution, command)
    cross join lateral (
      select i.execution
      from instances as i
      where i.iid = g.iid
      limit 1
    ) as i
    where g.iid = any (p_done);
    perform drop_tasks(v_iids, v_executions, v_commands);
  end if;
end
$$;
