-- Extends the lease of a runtime to p_lease_ms from now. Apart from the tick, so that nothing in a tick
-- can make a renewal fail or wait. False if the runtime is dead.
--
-- Settings: any plan.
create or replace function renew_lease(
  p_runtime integer,
  p_lease_ms bigint,
  out is_alive boolean,
  out clock bigint
)
  language plpgsql
  volatile
as $$
begin
  perform require_fresh_snapshots();
  perform keep_clock();
  clock := now_ms();
  update runtimes
  set lease_until = clock + p_lease_ms
  where runtime = p_runtime
    and state = :RUNTIME.alive;
  is_alive := found;
end
$$;
