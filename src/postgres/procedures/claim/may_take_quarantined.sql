-- Whether a runtime may be given something that runtimes died with, an instance or a task, until the
-- end of this transaction. Both are asked for at the same time, on two connections: without the
-- lock, each would be given what the other does not see yet, and both be blamed for the next death.
--
-- Settings: any plan.
create or replace function may_take_quarantined(p_runtime integer)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  -- The same number without the sign stands for the runtime being alive, see enter().
  perform pg_advisory_xact_lock(lock_space(), -p_runtime);
  -- A new statement, and so a new snapshot: it sees what the lock waited for.
  return not has_quarantined(p_runtime);
end
$$;
