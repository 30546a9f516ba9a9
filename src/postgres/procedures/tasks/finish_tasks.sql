-- Records the results of attempts, each judged by itself. Returns one letter for each, see
-- TASK_VERDICT, and the owners of the instances.
--
-- A result that completes a task is accepted from any runtime that names the token of the task; any
-- other only from the current attempt, at a live runtime.
create or replace function finish_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_attempts integer[],
  -- See TASK_END.
  p_ends smallint[],
  p_delays bigint[],
  p_payloads text,
  -- Null from older versions: then they are not compared.
  p_tokens bigint[] default null,
  out verdicts text,
  out owners integer[]
)
  language plpgsql
  volatile
  set lock_timeout to '1s'
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_size integer := cardinality(p_iids);
  v_payloads text[] := split_texts(p_payloads, v_size);
  v_done bigint[];
  v_sessions text[];
begin
  perform be_durable();

  with locked as materialized (
    select t.number, t.session, g.ending, g.place
    from (
      -- In one order, so that two calls for the same tasks cannot deadlock.
      select *
      from unnest(p_iids, p_executions, p_commands, p_attempts, p_ends, p_tokens) with ordinality
        as g (iid, execution, command, attempt, ending, token, place)
      order by g.iid, g.execution, g.command
    ) as g
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select t.number, t.session, t.held_by, t.attempts, t.token
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update
    ) as t
    where case
      when g.ending = :TASK_END.completed then p_tokens is null or t.token is not distinct from g.token
      else
        v_alive
        and t.held_by = p_runtime
        and t.attempts = g.attempt
        and (g.token is null or t.token = g.token)
    end
  )
  select array_agg(l.place), array_agg(l.session)
  into v_done, v_sessions
  from (
    select
      l.*,
      row_number() over by_task as nth,
      first_value(l.ending) over by_task as first_ending,
      row_number() over (partition by l.number, l.ending order by l.place) as nth_alike
    from locked as l
    window by_task as (partition by l.number order by l.place)
  ) as l
  -- Of several results for one task the first counts; then a completion, if the first left the task.
  where l.nth = 1
    or l.ending = :TASK_END.completed and l.nth_alike = 1 and l.first_ending > :TASK_END.failed;

  if p_ends && array[:TASK_END.retry, :TASK_END.release]::smallint[] then
    update tasks as t
    set held_by = null,
        beat_until = null,
        visible_at = case when g.delay > 0 then v_clock + g.delay end,
        attempts = case when g.ending = :TASK_END.release then greatest(t.attempts - 1, 0) else t.attempts end,
        error = case when g.ending = :TASK_END.retry then nullif(g.payload, '') else t.error end,
        -- It was started in time, and released.
        start_by = case when g.ending = :TASK_END.release then null else t.start_by end
    from unnest(p_iids, p_executions, p_commands, p_ends, p_delays, v_payloads) with ordinality
      as g (iid, execution, command, ending, delay, payload, place)
    where g.place = any (v_done)
      and g.ending > :TASK_END.failed
      and t.iid = g.iid
      and t.execution = g.execution
      and t.command = g.command;
  end if;

  if p_ends && array[:TASK_END.completed, :TASK_END.failed]::smallint[] then
    with ended as materialized (
      select g.*
      from unnest(p_iids, p_executions, p_commands, p_ends, v_payloads) with ordinality
        as g (iid, execution, command, ending, payload, place)
      where g.place = any (v_done)
        and g.ending <= :TASK_END.failed
    ),
    removed as (
      delete from tasks as t
      using ended as e
      where t.iid = e.iid
        and t.execution = e.execution
        and t.command = e.command
    )
    insert into inbox (iid, kind, execution, command, payload)
    select e.iid, e.ending, e.execution, e.command, e.payload
    from ended as e
    cross join lateral (
      select
      from instances as i
      where i.iid = e.iid
        and i.execution = e.execution
        and i.status = :STATUS.running
      limit 1
    ) as waiting
    order by e.iid, e.place
    on conflict do nothing;
  end if;

  v_sessions := array_remove(v_sessions, null);
  if cardinality(v_sessions) > 0 then
    perform touch_sessions(p_runtime, v_sessions, v_clock);
  end if;

  select
    string_agg(case when g.place = any (v_done) then :TASK_VERDICT.done else :TASK_VERDICT.gone end, '' order by g.place),
    array_agg(r.owner order by g.place)
  into verdicts, owners
  from unnest(p_iids) with ordinality as g (iid, place)
  left join runs as r on r.iid = g.iid;
end
$$;
