-- Declares dead, for ever, every runtime whose lease ended, and frees what it owned and held.
create or replace function bury_expired(p_clock bigint)
  returns void
  language plpgsql
  volatile
  set search_path from current
as $$
declare
  v_runtime integer;
  v_dead integer[] := '{}';
begin
  for v_runtime in
    select r.runtime
    from runtimes as r
    where r.state = 1
      and r.lease_until <= p_clock
    order by r.runtime
    for update skip locked
  loop
    -- It is writing at this moment: then it lives, and we look again at the next tick.
    if pg_try_advisory_xact_lock(lock_space(), v_runtime) then
      v_dead := v_dead || v_runtime;
    end if;
  end loop;

  if cardinality(v_dead) > 0 then
    update runtimes
    set state = 2
    where runtime = any (v_dead);
    perform free_runs(v_dead, p_clock, true);
    perform free_tasks(v_dead, true);
  end if;
end
$$;
