-- When a runtime may take over a session; null while another live runtime owns a task of it.
create or replace function session_free_at(p_runtime integer, p_session text, p_idle_ms bigint)
  returns bigint
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_touched_at bigint;
  v_owner integer;
begin
  select s.touched_at, s.runtime
  into v_touched_at, v_owner
  from sessions as s
  where s.session = p_session collate "C";
  if v_owner is null
    or v_owner = p_runtime
    or (select r.state from runtimes as r where r.runtime = v_owner) is distinct from :RUNTIME.alive
  then
    return 0;
  end if;
  if (
    select true
    from tasks as t
    where t.held_by = v_owner
      and t.session = p_session collate "C"
    limit 1
  ) then
    return null;
  end if;
  return v_touched_at + p_idle_ms;
end
$$;
