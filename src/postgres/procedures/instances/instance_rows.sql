-- Instances for find() and look(), in the order given. `place` counts from 1; unknown ones have no
-- row.
create or replace function instance_rows(p_iids bigint[])
  returns table (
    place bigint,
    iid bigint,
    id text,
    name text,
    version text,
    execution integer,
    status smallint,
    held boolean,
    scheduled boolean,
    wake_at bigint,
    created_at bigint,
    updated_at bigint,
    finished_at bigint,
    output text,
    report text,
    parent_iid bigint,
    parent_id text,
    parent_execution integer,
    parent_command integer,
    on_close smallint,
    labels text,
    progress text,
    mail bigint,
    progress_version integer
  )
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  return query
  select
    g.place, i.iid, i.id, coalesce(w.name, ''), coalesce(w.version, ''), i.execution, i.status,
    coalesce(r.held, false),
    -- Not claimed yet, and not an import of an instance that had begun.
    coalesce(
      not r.held and (:UNADMITTED or r.epoch = 0 and last.turn = 1 and last.next_event = 2), false
    ),
    r.wake_at, i.created_at, greatest(i.updated_at, last.at), i.finished_at, i.output, i.report,
    i.parent_iid, i.parent_id, i.parent_execution, i.parent_command, i.on_close,
    coalesce(i.labels, '{}'), i.progress,
    (
      select count(*)
      from inbox as m
      where m.iid = i.iid
        and m.kind > :KIND.failed
        and m.kind = :KIND.message
    ),
    coalesce(i.progress_version, 0)
  from unnest(p_iids) with ordinality as g (iid, place)
  join instances as i on i.iid = g.iid
  -- Unstarted ones have no workflow.
  left join workflows as w on w.workflow = i.workflow
  left join runs as r on r.iid = i.iid
  cross join lateral last_turn(i.iid) as last
  order by g.place;
end
$$;
