-- Makes a runtime the owner of tasks, given by their keys, if they are still ready, not locked by another
-- transaction, and belong to no session but these. Removes those whose instance does not wait for them
-- any more: they were locked when it ended, see drop_tasks().
--
-- Returns the numbers of the tasks that it took or removed, and the keys of those it took.
create or replace function take_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_sessions text[],
  p_clock bigint,
  out numbers bigint[],
  out iids bigint[],
  out executions integer[],
  out commands integer[]
)
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_limit_keys text[];
  v_rate_counts integer[];
  v_rate_mss bigint[];
begin
  with locked as materialized (
    select t.*
    from unnest(p_iids, p_executions, p_commands) as g (iid, execution, command)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select
        t.number, t.iid, t.execution, t.command, t.held_by, t.visible_at, t.lane, t.session
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      for update skip locked
    ) as t
    where t.held_by is null
      and t.visible_at is null
      and t.lane is not null
      and (t.session is null or t.session = any (p_sessions))
  ),
  judged as materialized (
    select l.iid, l.execution, l.command, wanted.yes
    from locked as l
    left join lateral (
      select true as yes
      from instances as i
      where i.iid = l.iid
        and i.execution = l.execution
        and i.status = :STATUS.running
      limit 1
    ) as wanted on true
  ),
  unwanted as (
    delete from tasks as t
    using judged as j
    where j.yes is null
      and t.iid = j.iid
      and t.execution = j.execution
      and t.command = j.command
  ),
  taken as (
    update tasks as t
    set held_by = p_runtime,
        held_since = p_clock,
        attempts = t.attempts + 1
    from judged as j
    where j.yes
      and t.iid = j.iid
      and t.execution = j.execution
      and t.command = j.command
    returning
      t.number, t.iid, t.execution, t.command, t.limit_key, t.rate_count, t.rate_ms
  )
  select
    array(select l.number from locked as l),
    array_agg(t.iid order by t.number), array_agg(t.execution order by t.number),
    array_agg(t.command order by t.number),
    array_agg(t.limit_key) filter (where t.rate_count is not null),
    array_agg(t.rate_count) filter (where t.rate_count is not null),
    array_agg(t.rate_ms) filter (where t.rate_count is not null)
  into numbers, iids, executions, commands, v_limit_keys, v_rate_counts, v_rate_mss
  from taken as t;

  if v_limit_keys is not null then
    perform spend_limits(v_limit_keys, v_rate_counts, v_rate_mss, p_clock);
  end if;
end
$$;
