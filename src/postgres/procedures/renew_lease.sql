-- Makes the lease of a runtime end p_lease_ms from now, and nothing else: what the event loop of a
-- runtime cannot do while it stands still. False when the runtime is not alive any more.
create or replace function renew_lease(
  p_runtime integer,
  p_lease_ms bigint,
  out is_alive boolean
)
  language plpgsql
  volatile
  set search_path from current
as $$
begin
  perform require_fresh_snapshots();
  update runtimes
  set lease_until = now_ms() + p_lease_ms
  where runtime = p_runtime
    and state = 1;
  is_alive := found;
end
$$;
