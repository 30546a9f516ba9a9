-- The owner of an instance, its tasks, and what the live runtimes can run: for info(), which says why an
-- instance makes no progress. Each column is JSON.
create or replace function whereabouts(
  p_iid bigint,
  out owner text,
  out tasks text,
  out runtimes text,
  -- The limit that it waits for; null for none.
  out limited text
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
  limited := (
    select json_build_object(
      'key', case when l.keyed then a.limit_key end,
      'concurrency', l.concurrency,
      'rateCount', l.rate_count,
      'rateMs', l.rate_ms,
      'suspended', (
        select count(*)
        from (
          select held.held
          from admissions as other
          cross join lateral (
            select r.held
            from runs as r
            where r.iid = other.iid
            limit 1
          ) as held
          where other.workflow = l.workflow
            and other.limit_key = a.limit_key
            and other.state = :ADMISSION.admitted
          -- Without a limit of concurrency there are no places, and the count would have no end.
          limit coalesce(l.concurrency, 0)
        ) as places
        where places.held
      )
    )
    from runs as r
    join admissions as a on a.iid = r.iid
    cross join lateral limit_of(r.workflow) as l
    where r.iid = p_iid
      and :UNADMITTED
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
