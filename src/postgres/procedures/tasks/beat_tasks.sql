-- Records heartbeats. Returns one letter for each, t or f: whether the attempt is still wanted and this
-- runtime owns it.
--
-- Activities that run at the owner of their instance, and have no task yet, come with an epoch; p_locals
-- are the lists of insert_tasks() for these, or empty.
create or replace function beat_tasks(
  p_runtime integer,
  p_iids bigint[],
  p_executions integer[],
  p_commands integer[],
  p_attempts integer[],
  p_silent_ms bigint[],
  -- False leaves the details as they are.
  p_told boolean[],
  p_details text,
  p_epochs integer[],
  p_locals text,
  -- Null from older versions; a null is not compared.
  p_tokens bigint[] default null,
  out wanted text
)
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_alive boolean := enter(p_runtime);
  v_clock bigint := now_ms();
  v_size integer := cardinality(p_iids);
  v_locals text[];
  v_known text;
  -- Places of those that this runtime does not own, and that become no tasks.
  v_not_owned bigint[] := '{}';
  v_sessions text[];
begin
  if not v_alive then
    wanted := repeat('f', v_size);
    return;
  end if;
  perform be_durable();

  if p_locals <> '' then
    v_known := owned_task_flags(p_runtime, p_iids, p_executions, p_commands, p_attempts, p_tokens);
    v_not_owned := array(
      select g.place
      from unnest(p_iids, p_epochs) with ordinality as g (iid, epoch, place)
      left join runs as r
        on r.iid = g.iid
        and r.owner = p_runtime
        and r.epoch = g.epoch
        and not r.held
      where g.epoch is not null
        and r.iid is null
        and substr(v_known, g.place::integer, 1) = 'f'
    );
    v_locals := split_lists(p_locals, case when p_tokens is null then 15 else 16 end);
    perform insert_tasks(
      array(select distinct l.iid from unnest(v_locals[1]::bigint[]) as l (iid)),
      v_locals,
      p_runtime
    );
  end if;

  with beats as materialized (
    select t.iid, t.execution, t.command, g.silent_ms, g.told, g.details
    from unnest(
      p_iids, p_executions, p_commands, p_attempts, p_silent_ms, p_told,
      split_texts(p_details, v_size), p_tokens
    ) with ordinality
      as g (iid, execution, command, attempt, silent_ms, told, details, token, place)
    -- By the key alone: with more conditions, another index may be planned, and read through.
    cross join lateral (
      select t.iid, t.execution, t.command, t.held_by, t.attempts, t.token
      from tasks as t
      where t.iid = g.iid
        and t.execution = g.execution
        and t.command = g.command
      limit 1
      -- A locked task is just being finished or taken over.
      for no key update skip locked
    ) as t
    where t.held_by = p_runtime
      and t.attempts = g.attempt
      and (g.token is null or t.token = g.token)
      and g.place <> all (v_not_owned)
  ),
  written as (
    update tasks as t
    set beat = case when b.told then b.details else t.beat end,
        beat_until = v_clock + b.silent_ms
    from beats as b
    where t.iid = b.iid
      and t.execution = b.execution
      and t.command = b.command
    returning t.session
  )
  select array_agg(w.session) filter (where w.session is not null)
  into v_sessions
  from written as w;
  if v_sessions is not null then
    perform touch_sessions(p_runtime, v_sessions, v_clock);
  end if;

  wanted := owned_task_flags(p_runtime, p_iids, p_executions, p_commands, p_attempts, p_tokens);
  if cardinality(v_not_owned) > 0 then
    wanted := (
      select string_agg(
        case when g.place = any (v_not_owned) then 'f' else g.letter end,
        '' order by g.place
      )
      from string_to_table(wanted, null) with ordinality as g (letter, place)
    );
  end if;
end
$$;
