-- Finds tasks, in the order of their keys. Examines at most p_scan rows, and returns at most p_limit of
-- those that match; where to continue is in each row, null at the end. If none matches and there is
-- more, there is one row with nothing else in it.
create or replace function find_tasks(
  p_activity text,
  p_tag text,
  p_session text,
  p_instance text,
  p_state text,
  p_after_iid bigint,
  p_after_execution integer,
  p_after_command integer,
  p_limit integer,
  p_scan integer
)
  returns table (
    iid bigint,
    execution integer,
    command integer,
    id text,
    workflow text,
    activity text,
    tag text,
    session text,
    session_of integer,
    attempts integer,
    deaths smallint,
    owner integer,
    owned_since bigint,
    visible_at bigint,
    error text,
    next_iid bigint,
    next_execution integer,
    next_command integer
  )
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
  v_iid bigint := (select i.iid from instances as i where i.id = p_instance collate "C");
  v_from bigint := case when p_instance is null then -1 else coalesce(v_iid, -1) end;
  v_until bigint := case when p_instance is null then 9223372036854775807 else coalesce(v_iid, -1) end;
begin
  return query
  with examined as materialized (
    select t.*, row_number() over (order by t.iid, t.execution, t.command) as place
    from (
      select t.*
      from tasks as t
      where (t.iid, t.execution, t.command)
          > (coalesce(p_after_iid, v_from - 1), coalesce(p_after_execution, 0), coalesce(p_after_command, 0))
        and t.iid <= v_until
        and t.iid >= v_from
      order by t.iid, t.execution, t.command
      limit p_scan
    ) as t
  ),
  fitting as materialized (
    select t.*
    from examined as t
    where (p_activity is null or t.activity = p_activity)
      and (p_tag is null or t.tag = p_tag)
      and (p_session is null or t.session = p_session)
      and (
        p_state is null
        or p_state = case
          when t.held_by is not null then 'running'
          when t.visible_at > v_clock then 'delayed'
          else 'waiting'
        end
      )
    order by t.place
    limit p_limit
  ),
  last as (
    select e.iid, e.execution, e.command
    from examined as e
    where e.place = case
      when (select count(*) from fitting) = p_limit then (select max(f.place) from fitting as f)
      else p_scan
    end
  )
  select
    f.iid, f.execution, f.command, i.id, w.name, f.activity, f.tag, coalesce(f.session, ''),
    s.runtime, f.attempts, f.deaths, f.held_by, case when f.held_by is not null then f.held_since end,
    f.visible_at, f.error, l.iid, l.execution, l.command
  from (select true) as one (row)
  left join last as l on true
  left join fitting as f on true
  left join instances as i on i.iid = f.iid
  left join workflows as w on w.workflow = i.workflow
  left join sessions as s on s.session = f.session
  where f.iid is not null
    or l.iid is not null
  order by f.place;
end
$$;
