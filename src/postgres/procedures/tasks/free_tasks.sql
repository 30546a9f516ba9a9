-- Frees all tasks of these runtimes now, and their sessions. p_failed says whether the runtimes died,
-- which counts as a death of their tasks. If they closed (false), the interrupted attempts do not count.
-- If that is unknown (null), because the server was down, no death is counted, but the attempts are: they
-- may still be running, and the next owner needs an attempt of its own.
create or replace function free_tasks(p_runtimes integer[], p_failed boolean)
  returns void
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_closed boolean := p_failed is false;
  v_deaths integer := (p_failed is true)::integer;
begin
  with freed as materialized (
    select t.iid, t.execution, t.command
    from tasks as t
    where t.held_by = any (p_runtimes)
    -- A transaction of a user may have one locked for long: a later tick finds it.
    for update skip locked
  )
  update tasks as t
  set held_by = null,
      beat_until = null,
      deaths = least(t.deaths + v_deaths, 32767),
      attempts = case when v_closed then greatest(t.attempts - 1, 0) else t.attempts end,
      start_by = case when v_closed then null else t.start_by end,
      lane = task_lane(t.session, t.limit_key, t.deaths + v_deaths)
  from freed as f
  where t.iid = f.iid
    and t.execution = f.execution
    and t.command = f.command;

  with left_behind as materialized (
    select s.session
    from sessions as s
    where s.runtime = any (p_runtimes)
    -- A transaction that has one locked takes it over.
    for update skip locked
  )
  delete from sessions as s
  using left_behind as l
  where s.session = l.session;
end
$$;
