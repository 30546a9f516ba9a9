-- Marks every other runtime whose lease expired as dead, forever, and frees its instances and tasks. A
-- runtime whose lease expired while the server was down could not renew it: that is not counted as a
-- death of its instances and tasks.
--
-- Settings: any plan.
create or replace function reclaim_dead(p_clock bigint, p_self integer)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_since bigint := server_since();
  v_runtime integer;
  v_was_cut_off boolean;
  v_dead integer[] := '{}';
  v_cut_off integer[] := '{}';
begin
  for v_runtime, v_was_cut_off in
    select r.runtime, r.lease_until <= v_since
    from runtimes as r
    where r.state = :RUNTIME.alive
      and r.lease_until <= p_clock
      and r.runtime <> p_self
    order by r.runtime
    for update skip locked
  loop
    -- Otherwise it is writing at this moment, so it is alive; the next tick checks again.
    if pg_try_advisory_xact_lock(lock_space(), v_runtime) then
      if v_was_cut_off then
        v_cut_off := v_cut_off || v_runtime;
      else
        v_dead := v_dead || v_runtime;
      end if;
    end if;
  end loop;

  if cardinality(v_dead || v_cut_off) > 0 then
    update runtimes
    set state = :RUNTIME.dead
    where runtime = any (v_dead || v_cut_off);
    perform free_runs(v_dead, p_clock, true);
    perform free_runs(v_cut_off, p_clock, false);
    perform free_tasks(v_dead, true);
    perform free_tasks(v_cut_off, null);
  end if;
end
$$;
