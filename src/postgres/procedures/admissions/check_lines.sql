-- For tick(): wakes lines whose limit has room, or is gone, although no instance in them is due. It happens
-- when a transaction that was about to wake the line has failed, or had them locked. Some lines at a time, from a random place on, so
-- that a tick stays short however many there are.
create or replace function check_lines(p_workflows integer[], p_clock bigint)
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
#variable_conflict use_column
declare
  v_limits integer[] := array(
    select distinct l.workflow
    from workflows as w
    join workflows as l
      on l.name = w.name
      and l.version = ''
    where w.workflow = any (p_workflows)
  );
begin
  if cardinality(v_limits) = 0 then
    return;
  end if;
  perform wake_lines(array_agg(stuck.workflow), array_agg(stuck.limit_key), p_clock)
  from (
    select l.workflow, l.limit_key
    from (
      select * from all_lines(v_limits, '', :MAX_LINES_CHECKED)
      union
      -- A random place: the keys of half of the lines are after that of the middle one, on average.
      select * from all_lines(v_limits, chr(33 + floor(random() * 94)::integer), :MAX_LINES_CHECKED)
    ) as l
    join workflows as w on w.workflow = l.workflow
    where (
        select r.wake_at
        from (
          select a.iid
          from admissions as a
          where a.workflow = l.workflow
            and a.limit_key = l.limit_key
            and a.state = :ADMISSION.waiting
          order by a.priority desc, a.since, a.iid
          limit 1
        ) as first
        -- A plain join would read every run, if the table was nearly empty when the server last looked.
        cross join lateral (
          select r.wake_at
          from runs as r
          where r.iid = first.iid
          limit 1
        ) as r
      ) is null
      and (
        w.concurrency is null
        or w.concurrency > (
          select count(*)
          from (
            select
            from admissions as a
            where a.workflow = l.workflow
              and a.limit_key = l.limit_key
              and a.state = :ADMISSION.admitted
            limit w.concurrency
          ) as admitted
        )
      )
  ) as stuck;
end
$$;
