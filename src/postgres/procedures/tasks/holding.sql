-- The keys of all tasks that a runtime owns: finds those of a claim whose answer was lost.
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
