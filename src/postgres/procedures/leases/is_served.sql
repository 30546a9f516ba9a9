-- Whether a live runtime has this workflow.
--
-- Settings: its caller's.
create or replace function is_served(p_workflow integer, p_clock bigint)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return (
    select true
    from runtimes as t
    where t.state = :RUNTIME.alive
      and t.lease_until > p_clock
      and p_workflow = any (t.workflows)
    limit 1
  ) is not null;
end
$$;
