-- Puts the results of ended instances into the inboxes of their parents, unless the parent has ended or
-- is in another execution by now.
--
-- Settings: its caller's.
create or replace function tell_parents(p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into inbox (iid, kind, execution, command, payload)
  select
    child.parent_iid,
    case when child.status = :STATUS.completed then :KIND.completed else :KIND.failed end,
    child.parent_execution, child.parent_command, child.output
  from instances as child
  join instances as parent
    on parent.iid = child.parent_iid
    and parent.execution = child.parent_execution
    and parent.status = :STATUS.running
  where child.iid = any (p_iids)
    and child.on_close <> :ON_CLOSE.independent
  order by child.parent_iid, child.parent_execution, child.parent_command
  on conflict do nothing;
end
$$;
