-- The first step of all that a runtime writes: keeps it from being declared dead until the end of
-- the transaction, and says whether it is alive. Who wants it dead needs the same lock alone, so
-- when a death is visible, no write of the dead follows.
--
-- Settings: its caller's.
create or replace function enter(p_runtime integer)
  returns boolean
  language plpgsql
  volatile
as $$
begin
  perform require_fresh_snapshots();
  perform pg_advisory_xact_lock_shared(lock_space(), p_runtime);
  -- A new statement, and so a new snapshot: it sees a death that the lock waited for.
  return coalesce((select r.state = :RUNTIME.alive from runtimes as r where r.runtime = p_runtime), false);
end
$$;
