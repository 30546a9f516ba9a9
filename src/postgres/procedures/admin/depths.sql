-- How much there is to do. Reads all unfinished instances, all tasks and all messages: each column but
-- the first is JSON.
--
-- Settings: any plan.
create or replace function depths(
  out clock bigint,
  out workflows text,
  out tasks text,
  out oldest_due_at bigint,
  out waiting bigint,
  out parked bigint
)
  language plpgsql
  stable
as $$
#variable_conflict use_column
begin
  clock := now_ms();
  workflows := (
    select json_agg(
      json_build_object('name', w.name, 'version', w.version, 'status', d.status, 'count', d.count)
      order by w.name, w.version, d.status
    )
    from (
      select
        r.workflow,
        case when r.held then 'suspended' when r.epoch = 0 then 'scheduled' else 'running' end
          as status,
        count(*) as count
      from runs as r
      group by 1, 2
      union all
      select
        i.workflow,
        case i.status
          when :STATUS.failed then 'failed'
          when :STATUS.cancelled then 'cancelled'
          else 'terminated'
        end,
        count(*)
      from unsuccessful as u
      join instances as i on i.iid = u.iid
      group by 1, 2
    ) as d
    join workflows as w on w.workflow = d.workflow
  );
  tasks := (
    select json_agg(
      json_build_object(
        'activity', d.activity, 'tag', d.tag, 'waiting', d.waiting, 'delayed', d.delayed,
        'running', d.running,
        'oldestAt', (select l.at from last_turn(d.oldest) as l)
      )
      order by d.activity, d.tag
    )
    from (
      select
        t.activity, t.tag,
        count(*) filter (where t.held_by is null and t.visible_at is null) as waiting,
        count(*) filter (where t.held_by is null and t.visible_at is not null) as delayed,
        count(*) filter (where t.held_by is not null) as running,
        (array_agg(t.iid order by t.number) filter (where t.held_by is null and t.visible_at is null))[1]
          as oldest
      from tasks as t
      group by t.activity, t.tag
    ) as d
  );
  -- What may run at once has no time of its own: a start is due since it was made or resumed, and an
  -- instance that was released since its last turn.
  oldest_due_at := least(
    (select min(r.wake_at) from runs as r where r.wake_at > 0 and r.wake_at <= clock),
    (
      select min(i.updated_at)
      from runs as r
      join instances as i on i.iid = r.iid
      where r.wake_at = 0
        and r.epoch = 0
    ),
    (
      select min(l.at)
      from runs as r
      cross join lateral last_turn(r.iid) as l
      where r.wake_at = 0
        and r.epoch > 0
    )
  );
  select count(*) filter (where not m.parked), count(*) filter (where m.parked)
  into waiting, parked
  from inbox as m;
end
$$;
