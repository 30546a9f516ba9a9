-- One letter for each attempt, in the order given: t if this runtime owns it, otherwise f.
create or replace function owned_task_flags(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_attempts integer[],
  -- The tokens of the tasks; a null is not compared.
  p_tokens bigint[] default null
)
  returns text
  language plpgsql
  stable
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  return (
    select coalesce(
      string_agg(
        case
          when t.held_by = p_runtime
            and t.attempts = g.attempt
            and (g.token is null or t.token = g.token)
            then 't'
          else 'f'
        end,
        '' order by g.place
      ),
      ''
    )
    from unnest(p_iids, p_executions, p_commands, p_attempts, p_tokens) with ordinality
      as g (iid, execution, command, attempt, token, place)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    left join lateral (
      select t.held_by, t.attempts, t.token
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
    ) as t on true
  );
end
$$;
