-- Tasks that a runtime owns, with all it needs to run them; oldest first.
create or replace function held_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[]
)
  returns table (
    iid bigint,
    execution integer,
    command integer,
    id text,
    workflow text,
    activity text,
    input text,
    tag text,
    session text,
    options text,
    attempt integer,
    deaths smallint,
    beat text,
    token bigint
  )
  language plpgsql
  stable
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
begin
  return query
  select
    t.iid, t.execution, t.command, i.id, w.name, t.activity, t.input, t.tag,
    coalesce(t.session, ''), t.options, t.attempts, t.deaths, t.beat, t.token
  from unnest(p_iids, p_executions, p_commands) as g (iid, execution, command)
  -- By the key alone: with more conditions, another index may be planned, and read through.
  cross join lateral (
    select t.*
    from tasks as t
    where t.iid = g.iid
      and t.execution = g.execution
      and t.command = g.command
    limit 1
  ) as t
  join instances as i on i.iid = t.iid
  join workflows as w on w.workflow = i.workflow
  where t.held_by = p_runtime
  order by t.number;
end
$$;
