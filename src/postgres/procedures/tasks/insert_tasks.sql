-- Adds tasks for the instances in p_done that wait for them: unfinished ones, in their current execution.
-- Drops a second task for a command, and one that already has its result. p_lists are
-- the columns of `new`, in their order; an execution of null means the current one, and a
-- limit's key follows a "=". Versions before the tokens leave these out.
--
-- p_held_by, if given, owns the tasks from the beginning, as far as it owns the instances at the given
-- epochs.
create or replace function insert_tasks(p_done bigint[], p_lists text[], p_held_by integer)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_iids bigint[] := p_lists[1];
  v_size integer := cardinality(v_iids);
  v_waiting bigint[];
  v_executions integer[];
  v_commands integer[];
  v_finished record;
begin
  with new as materialized (
    select n.*, i.execution as current
    from unnest(
      v_iids, p_lists[2]::integer[], p_lists[3]::integer[], split_texts(p_lists[4], v_size),
      split_texts(p_lists[5], v_size), split_texts(p_lists[6], v_size),
      split_texts(p_lists[7], v_size), split_texts(p_lists[8], v_size),
      p_lists[9]::integer[], p_lists[10]::bigint[], split_texts(p_lists[11], v_size),
      p_lists[12]::integer[], p_lists[13]::integer[], p_lists[14]::bigint[],
      p_lists[15]::integer[], p_lists[16]::bigint[]
    ) as n (
      iid, execution, command, activity, input, tag, session, options, attempts, start_by,
      limit_key, concurrency, rate_count, rate_ms, epoch, token
    )
    cross join lateral (
      select i.execution
      from instances as i
      where i.iid = n.iid
        and i.status = :STATUS.running
        and i.execution = coalesce(n.execution, i.execution)
      limit 1
    ) as i
    where n.iid = any (p_done)
      and (
        p_held_by is null
        or (
          select r.owner = p_held_by and r.epoch = n.epoch and not r.held
          from runs as r
          where r.iid = n.iid
        )
      )
  ),
  added as (
    insert into tasks (
      iid, execution, command, activity, input, tag, session, options, attempts, start_by,
      limit_key, concurrency, rate_count, rate_ms, held_by, lane, token
    )
    select
      n.iid, n.current, n.command, n.activity, n.input, n.tag, nullif(n.session, ''), n.options,
      n.attempts, n.start_by, nullif(n.limit_key, ''), n.concurrency, n.rate_count, n.rate_ms,
      p_held_by, task_lane(nullif(n.session, ''), nullif(n.limit_key, ''), 0), n.token
    from new as n
    order by n.iid, n.current, n.command
    on conflict do nothing
    returning iid, execution, command
  )
  select array_agg(a.iid), array_agg(a.execution), array_agg(a.command)
  into v_waiting, v_executions, v_commands
  from added as a;

  if v_waiting is not null then
    -- A task may be added again by a call whose first answer was lost. Checked afterwards, in a
    -- statement that sees earlier transactions: the insert waited for their commit.
    for v_finished in
      select a.iid, a.execution, a.command
      from unnest(v_waiting, v_executions, v_commands) as a (iid, execution, command)
      where (
        select true
        from inbox as m
        where m.iid = a.iid
          and m.execution = a.execution
          and m.command = a.command
          and m.command is not null
        limit 1
      )
    loop
      delete from tasks
      where iid = v_finished.iid
        and execution = v_finished.execution
        and command = v_finished.command;
    end loop;
    update runs
    set has_tasks = true
    where iid = any (v_waiting)
      and not has_tasks;
  end if;
end
$$;
