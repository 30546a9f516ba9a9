-- The tasks that a runtime holds, by key: finds what a lost answer left behind.
create or replace function holding(p_runtime integer)
  returns table (iid bigint, execution integer, command integer, attempt integer)
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select t.iid, t.execution, t.command, t.attempts
  from tasks as t
  where t.held_by = p_runtime;
end
$$;
