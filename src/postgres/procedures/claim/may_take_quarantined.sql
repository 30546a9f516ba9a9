-- Whether a runtime may take a quarantined instance or task, until the end of this transaction. It
-- claims instances and tasks at the same time, on two connections: without the lock it could get one of
-- each, and both would be blamed for its next death.
--
-- Settings: any plan.
create or replace function may_take_quarantined(p_runtime integer)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  -- The positive number is the lock of enter().
  perform pg_advisory_xact_lock(lock_space(), -p_runtime);
  -- A new statement, and so a new snapshot: it sees what the lock waited for.
  return not has_quarantined(p_runtime);
end
$$;
