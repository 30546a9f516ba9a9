-- Instances that make no progress without help: a part of doctor().
--
-- Settings: any plan.
create or replace function doctor_instances()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_clock bigint := now_ms();
  v_served integer[];
  v_activities text[];
  v_activity text := '';
  v_count bigint;
  v_found boolean := false;
begin
  return query
  select
    'warning', 'instances',
    format(
      '%s instances are suspended, including %s', h.count,
      (
        select string_agg(format('%L', i.id), ', ' order by i.id)
        from instances as i
        where i.iid = any (h.first)
      )
    ),
    'instance.info().error says why; fix that, then call instance.resume(), or instance.terminate()'
  from (
    select count(*) as count, (array_agg(r.iid order by r.iid))[1:3] as first
    from runs as r
    where r.held
  ) as h
  where h.count > 0;
  v_found := found;

  select
    array_agg(distinct w.workflow),
    array_agg(distinct a.activity)
  into v_served, v_activities
  from runtimes as r
  left join unnest(r.workflows) as w (workflow) on true
  left join unnest(r.activities) as a (activity) on true
  where r.state = :RUNTIME.alive
    and r.lease_until > v_clock;

  return query
  select
    'warning', 'instances',
    format(
      '%s instances of workflow %s, %s, are due, and no live runtime has its code',
      case when due.count = 1000 then '1000 or more' else due.count::text end, w.name,
      case when w.version = '' then 'any version' else 'version ' || w.version end
    ),
    'register that version in a runtime, or terminate the instances'
  from workflows as w
  cross join lateral (
    select count(*) as count
    from (
      select
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at <= v_clock
      limit 1000
    ) as some_due
  ) as due
  where w.workflow <> all (coalesce(v_served, '{}'))
    and due.count > 0
  order by w.name, w.version;
  v_found := v_found or found;

  loop
    -- One index lookup per activity, not per task.
    v_activity := (
      select t.activity
      from tasks as t
      where t.activity > v_activity collate "C"
        and t.held_by is null
        and t.visible_at is null
        and t.lane is not null
      order by t.activity
      limit 1
    );
    exit when v_activity is null;
    continue when v_activity = any (v_activities);
    -- Without tags: the tables do not have the tags that runtimes serve.
    v_count := (
      select count(*)
      from (
        select
        from tasks as t
        where t.activity = v_activity collate "C"
          and t.tag = ''
          and t.held_by is null
          and t.visible_at is null
          and t.lane is not null
        limit 1000
      ) as some_ready
    );
    if v_count > 0 then
      v_found := true;
      return query
      select
        'warning', 'instances',
        format(
          '%s tasks of activity %s wait, and no live runtime is known to have its code',
          case when v_count = 1000 then '1000 or more' else v_count::text end, v_activity
        ),
        'register the activity in a runtime';
    end if;
  end loop;

  return query
  select
    'note', 'instances',
    format(
      'messages wait for %s ids that were never started, including %s', e.count,
      (
        select string_agg(format('%L', i.id), ', ' order by i.id)
        from instances as i
        where i.iid = any (e.first)
      )
    ),
    'start them, or find out what sends to the wrong ids'
  from (
    select count(*) as count, (array_agg(i.iid order by a.at, i.iid))[1:3] as first
    from absences as a
    join instances as i on i.iid = a.iid
    where i.status = :STATUS.unstarted
      and a.at < v_clock - 3600000
  ) as e
  where e.count > 0;
  v_found := v_found or found;

  if not v_found then
    return query select 'ok', 'instances', 'none is suspended, and none waits for code', '';
  end if;
end
$$;
