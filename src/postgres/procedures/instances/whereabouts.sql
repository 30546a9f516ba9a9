-- The owner of an instance, its tasks, and what the live runtimes can run: for info(), which says why an
-- instance makes no progress. Each column is JSON.
create or replace function whereabouts(
  p_iid bigint,
  out owner text,
  out tasks text,
  out runtimes text
)
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  owner := (
    select json_build_object('runtime', t.runtime, 'info', t.info)
    from runs as r
    join runtimes as t on t.runtime = r.owner
    where r.iid = p_iid
  );
  tasks := (
    select json_agg(
      json_build_object(
        'command', t.command,
        'attempts', t.attempts,
        'holder',
        case when t.held_by is not null then json_build_object('runtime', h.runtime, 'info', h.info) end,
        'heldSince', case when t.held_by is not null then t.held_since end,
        'visibleAt', t.visible_at,
        'error', t.error
      )
    )
    from instances as i
    join tasks as t
      on t.iid = i.iid
      and t.execution = i.execution
    left join runtimes as h on h.runtime = t.held_by
    where i.iid = p_iid
  );
  runtimes := (
    select json_agg(
      json_build_object(
        'runtime', t.runtime,
        'info', t.info,
        'registers', i.workflow = any (t.workflows),
        'serves', t.serves::json,
        'activities', t.activities
      )
    )
    from instances as i
    cross join runtimes as t
    where i.iid = p_iid
      and t.state = :RUNTIME.alive
      and t.lease_until > v_clock
  );
end
$$;
