-- Records the server's clock and the store's, so that the store's continues from there when the
-- server's is turned back: see clock_after(). Called whenever a lease is taken or renewed. Does not change
-- the time: now_ms() is the same before and after.
--
-- Reads the last record before the server's clock, and under the lock: otherwise a process that was
-- paused in between would take a newer record of another process for a step back.
--
-- Settings: its caller's.
create or replace function keep_clock()
  returns void
  language plpgsql
  volatile
as $$
declare
  v_kept bigint := coalesce(pg_sequence_last_value('clock_kept'::regclass), 0);
  v_wall bigint := wall_ms();
begin
  -- Another process has just recorded it, or does so now.
  if v_wall - v_kept / 1000000 between 0 and 1000
    or not pg_try_advisory_xact_lock(lock_space(), -1)
  then
    return;
  end if;
  v_kept := coalesce(pg_sequence_last_value('clock_kept'::regclass), 0);
  v_wall := wall_ms();
  perform setval('clock_kept', v_wall * 1000000 + (clock_after(v_kept, v_wall) - v_wall + 9) / 10);
end
$$;
