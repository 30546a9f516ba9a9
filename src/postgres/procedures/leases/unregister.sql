-- Ends a runtime and frees its instances and tasks. Waits for its commits; a second call has no effect.
--
-- Settings: any plan.
create or replace function unregister(p_runtime integer)
  returns void
  language plpgsql
  volatile
as $$
begin
  perform require_fresh_snapshots();
  perform be_durable();
  perform pg_advisory_xact_lock(lock_space(), p_runtime);
  update runtimes
  set state = :RUNTIME.closed
  where runtime = p_runtime
    and state = :RUNTIME.alive;
  if found then
    perform free_runs(array[p_runtime], now_ms(), false);
    perform free_tasks(array[p_runtime], false);
  end if;
end
$$;
