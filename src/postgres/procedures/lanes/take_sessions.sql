-- Gives a runtime those of these sessions that are its own or free, and returns them. Does not wait for
-- a session that another runtime is just taking.
--
-- Settings: any plan.
create or replace function take_sessions(
  p_runtime integer,
  p_sessions text[],
  p_idle_ms bigint,
  p_clock bigint
)
  returns text[]
  language plpgsql
  volatile
as $$
declare
  v_sessions text[] := array(
    select distinct s.session
    from unnest(p_sessions) as s (session)
    where try_lock_name('sessions', s.session)
  );
begin
  -- A new statement has a new snapshot: it sees what was taken under the lock before.
  v_sessions := array(
    select s.session
    from unnest(v_sessions) as s (session)
    where session_free_at(p_runtime, s.session, p_idle_ms) <= p_clock
    order by s.session
  );
  insert into sessions (session, runtime, touched_at)
  select s.session, p_runtime, p_clock
  from unnest(v_sessions) as s (session)
  on conflict (session) do update
  set runtime = excluded.runtime,
      touched_at = excluded.touched_at;
  return v_sessions;
end
$$;
