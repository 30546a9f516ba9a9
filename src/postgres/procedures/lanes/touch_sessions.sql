-- Records that a runtime just used these sessions, as far as they are its own.
create or replace function touch_sessions(p_runtime integer, p_sessions text[], p_clock bigint)
  returns void
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  with own as materialized (
    select s.session
    from sessions as s
    where s.session = any (p_sessions)
      and s.runtime = p_runtime
    -- A transaction that has it locked does the same, or takes it over.
    for no key update skip locked
  )
  update sessions as s
  set touched_at = p_clock
  from own as o
  where s.session = o.session;
end
$$;
