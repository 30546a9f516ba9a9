-- Makes the lease of a runtime end p_lease_ms from now, and nothing else that may be waited for: a
-- statement by itself cannot fail, or wait, for anything that a tick does. False when the runtime is not
-- alive any more.
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
