-- Gives sessions to a runtime, those that are its own or free; answers with these. One that another
-- runtime is taking at this moment is not waited for.
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
  -- A new statement, and so a new snapshot: it sees what whoever had the lock has taken.
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
