-- Makes suspended instances claimable again, those that never ran at the time they were scheduled for;
-- returns how many.
create or replace function resume(p_ids text, p_count integer, out resumed bigint)
  language plpgsql
  volatile
  -- A transaction of a user may have locked one of them: then the call fails and is retried, and
  -- occupies no connection meanwhile.
  set lock_timeout to '30ms'
as $$
declare
  v_clock bigint := now_ms();
begin
  perform be_durable();
  -- Waits for transactions that are just sending to one: see park_unread().
  perform
  from runs as r
  where r.iid = any (iids_of(p_ids, p_count))
    and r.held
  order by r.iid
  for update;

  with freed as (
    update runs as r
    set held = false,
        wake_at = coalesce(r.due_at, v_clock),
        due_at = null,
        attempts = 0,
        doing = null
    from unnest(split_texts(p_ids, p_count)) as g (id)
    join instances as i on i.id = g.id collate "C"
    where r.iid = i.iid
      and r.held
    returning r.iid
  ),
  -- They may be delayed because their owners died.
  tasks_freed as (
    update tasks as t
    set deaths = 0,
        visible_at = null,
        lane = task_lane(t.session, t.limit_key, 0)
    from freed as f
    where t.iid = f.iid
      and t.held_by is null
      and t.deaths > 0
      and t.lane is not null
  ),
  told as (
    update instances as i
    set report = null,
        updated_at = v_clock
    from freed as f
    where i.iid = f.iid
  )
  select count(*)
  into resumed
  from freed;
end
$$;
