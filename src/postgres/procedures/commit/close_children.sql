-- Asks unfinished children to end, in the way that their link to the parent says. p_commands are the
-- commands that started them; null means all children of that parent. p_executions is null for the
-- current execution.
--
-- Settings: its caller's.
create or replace function close_children(
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[]
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_children bigint[];
begin
  -- Two ways to find them, and so two statements: one condition for both would use no index.
  -- The limits keep the order of the joins: from the few that are given to the large table.
  v_children := array(
    select child.iid
    from unnest(p_iids, p_executions, p_commands) as c (iid, execution, command)
    cross join lateral (
      select i.iid
      from instances as i
      where i.parent_iid = c.iid
        and i.parent_execution = coalesce(
          c.execution,
          (select parent.execution from instances as parent where parent.iid = c.iid limit 1)
        )
        and i.parent_command = c.command
        and i.status = :STATUS.running
      limit 1
    ) as child
  );
  if array_position(p_commands, null) is not null then
    v_children := v_children || array(
      select child.iid
      from unnest(p_iids, p_commands) as c (iid, command)
      join instances as child on child.parent_iid = c.iid
      where c.command is null
        and child.status = :STATUS.running
    );
  end if;

  insert into inbox (iid, kind, name, payload)
  select child.iid, child.on_close + :KIND_OF_CLOSE, '', :PARENT_CLOSED
  from unnest(v_children) as v (iid)
  cross join lateral (
    select i.iid, i.on_close
    from instances as i
    where i.iid = v.iid
    limit 1
  ) as child
  where child.on_close < :ON_CLOSE.abandon
    -- Not if the request is in the inbox already.
    and (
      select true
      from inbox as told
      where told.iid = child.iid
        and told.kind > :KIND.failed
        and told.kind = child.on_close + :KIND_OF_CLOSE
      limit 1
    ) is null
  order by child.iid;
  perform wake_unadmitted(v_children);
end
$$;
