-- The first step of every write of a runtime: keeps it from being marked as dead until the end of the
-- transaction, and returns whether it is alive. Marking it as dead needs the same lock exclusively, so
-- a dead runtime writes nothing after its death is visible.
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
