-- Schedules to look at now: those that are due, up to p_limit; those with these names; and those whose
-- next due time was set in the future, because the clock was turned back since. And when the next of the
-- others is due.
create or replace function due_schedules(
  p_limit integer,
  p_names text,
  p_count integer,
  out clock bigint,
  out schedules text,
  out next bigint
)
  language plpgsql
  stable
as $$
declare
  v_clock bigint := now_ms();
begin
  clock := v_clock;
  schedules := (
    select coalesce(json_agg(found.schedule), '[]')
    from (
      select schedule_json(s) as schedule
      from (
        select s.name
        from (
          select s.name
          from schedules as s
          where s.wake_at <= v_clock
          order by s.wake_at
          limit p_limit
        ) as s
        union
        select s.name
        from unnest(split_texts(p_names, p_count)) as g (name)
        cross join lateral (
          select s.name
          from schedules as s
          where s.name = g.name collate "C"
            and s.wake_at is not null
          limit 1
        ) as s
        union
        select s.name
        from (
          select s.name
          from schedules as s
          where s.set_at > v_clock + :SCHEDULE_STEP_BACK_MS
            and s.wake_at is not null
          order by s.set_at
          limit p_limit
        ) as s
      ) as wanted
      cross join lateral (
        select *
        from schedules as s
        where s.name = wanted.name
        limit 1
      ) as s
      order by s.wake_at
    ) as found
  );
  next := (
    select s.wake_at
    from schedules as s
    where s.wake_at > v_clock
    order by s.wake_at
    limit 1
  );
end
$$;
