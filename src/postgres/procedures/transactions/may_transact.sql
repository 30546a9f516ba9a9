-- Whether the result of a transaction would be accepted: its runtime owns the instance at this epoch, or
-- the task at this attempt, and there is no result yet. Locks nothing.
create or replace function may_transact(
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  p_epoch integer,
  p_attempt integer,
  -- The last turn that the owner has seen, and the token of the task. A null is not compared.
  p_turn integer,
  p_token bigint
)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  if exists (
    select
    from inbox as m
    where m.iid = p_iid
      and m.execution = p_execution
      and m.command = p_command
  ) then
    return false;
  end if;
  if p_attempt is null then
    return exists (
      select
      from runs as r
      where r.iid = p_iid
        and r.owner = p_runtime
        and r.epoch = p_epoch
        and not r.held
    )
    -- After a failover the turn that called this code may be lost.
    and (
      p_turn is null
      or exists (
        select
        from history as h
        where h.iid = p_iid
          and h.execution = p_execution
          and h.turn = p_turn
      )
    );
  end if;
  return exists (
    select
    from tasks as t
    where t.iid = p_iid
      and t.execution = p_execution
      and t.command = p_command
      -- Not "=": the planner might read all tasks of the runtime.
      and t.held_by is not distinct from p_runtime
      and t.attempts = p_attempt
      and (p_token is null or t.token = p_token)
  );
end
$$;
