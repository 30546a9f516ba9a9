-- Makes a runtime the owner of up to p_limit tasks, oldest first. Returns keys only, and held_tasks()
-- reads the rest: a large answer to a process that stopped reading would keep the rows locked.
--
-- Chooses tasks without locks, and then locks those that no other transaction has locked: so it locks no
-- more than it takes, and waits for nothing.
create or replace function claim_tasks(
  p_runtime integer,
  p_limit integer,
  p_most_sessions integer,
  p_session_idle_ms bigint,
  -- What it serves, as ready_lanes() takes it.
  p_activities text,
  p_activity_count integer,
  p_tags text,
  p_tag_count integer,
  p_any_tag boolean,
  out state text,
  out clock bigint,
  out iids bigint[],
  out executions integer[],
  out commands integer[],
  out next_due bigint
)
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_activities text[] := split_texts(p_activities, p_activity_count);
  v_tags text[] := split_texts(p_tags, p_tag_count);
  v_chosen record;
  v_sessions text[];
  v_taken record;
  v_missed bigint[] := '{}';
  v_passed_over boolean := false;
begin
  clock := v_clock;
  if not v_alive then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  iids := '{}';
  perform be_durable();
  if p_limit > 0 then
    v_passed_over := wake_tasks(v_activities, v_tags, p_any_tag, v_clock);
  end if;

  -- Repeated while tasks are missed: concurrent claims choose the same tasks.
  for v_round in 1..10 loop
    exit when cardinality(iids) >= p_limit;
    select c.*
    into v_chosen
    from choose_tasks(
      p_runtime, v_activities, v_tags, p_any_tag, p_limit - cardinality(iids), p_most_sessions,
      p_session_idle_ms, v_clock, v_missed
    ) as c;
    next_due := v_chosen.opens_at;
    exit when v_chosen.numbers is null;

    if true = any (v_chosen.late) then
      perform shelve_tasks(
        v_chosen.iids, v_chosen.executions, v_chosen.commands, v_chosen.late
      );
    end if;
    v_sessions := array_remove(v_chosen.sessions, null);
    if cardinality(v_sessions) > 0 then
      v_sessions := take_sessions(p_runtime, v_sessions, p_session_idle_ms, v_clock);
    end if;

    select t.*
    into v_taken
    from take_tasks(
      p_runtime, v_chosen.iids, v_chosen.executions, v_chosen.commands, v_sessions, v_clock
    ) as t;
    iids := iids || v_taken.iids;
    executions := executions || v_taken.executions;
    commands := commands || v_taken.commands;
    v_missed := v_missed || array(
      select unnest(v_chosen.numbers) except select unnest(v_taken.numbers)
    );
    -- Only another round finds when the tasks that a limit left may start.
    exit when cardinality(v_taken.numbers) = cardinality(v_chosen.numbers)
      and not true = any (v_chosen.limited);
  end loop;

  next_due := least(next_due, next_task_at(v_activities, v_tags, p_any_tag));
  if v_passed_over then
    next_due := least(next_due, v_clock + 50);
  end if;
end
$$;
