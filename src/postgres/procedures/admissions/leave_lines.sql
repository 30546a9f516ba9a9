-- Instances leave the limit of their workflow: they have ended. Each place that becomes free goes to the
-- first in its line; where that is not all there is to it, because of a rate or a limit that changed, the
-- line is judged again. Returns instances that are due because of it, for a hint.
--
-- A place is handed on without counting anew: other transactions may do the same in the same line, at the
-- same time, each with the places that it frees.
create or replace function leave_lines(p_iids bigint[], p_clock bigint)
  returns bigint[]
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
#variable_conflict use_column
declare
  v_workflows integer[];
  v_limit_keys text[];
  -- How many places become free in each line.
  v_freed bigint[];
  -- Whether one of those that leave was not admitted: it may have had the line judged.
  v_passed_on boolean[];
  v_admitted bigint[];
  v_unfinished record;
  v_woken bigint[];
begin
  perform lock_lines(array_agg(a.workflow), array_agg(a.limit_key), false)
  from admissions as a
  where a.iid = any (p_iids)
    and a.limit_key is not null;

  with gone as (
    delete from admissions as a
    where a.iid = any (p_iids)
    returning a.workflow, a.limit_key, a.state
  )
  select
    array_agg(l.workflow), array_agg(l.limit_key), array_agg(l.freed), array_agg(l.passed_on)
  into v_workflows, v_limit_keys, v_freed, v_passed_on
  from (
    select
      g.workflow, g.limit_key,
      count(*) filter (where g.state = :ADMISSION.admitted) as freed,
      bool_or(g.state < :ADMISSION.admitted) as passed_on
    from gone as g
    where g.limit_key is not null
    group by g.workflow, g.limit_key
  ) as l;
  if v_workflows is null then
    return '{}';
  end if;

  with lines as materialized (
    select
      l.workflow, l.limit_key,
      -- No place is handed on under a rate, nor while more are admitted than a lower limit allows now.
      case
        when w.rate_count is null and w.keyed is not null then least(
          l.freed,
          w.concurrency - (
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
        else 0
      end as places,
      l.passed_on or w.rate_count is not null or w.keyed is null as must_judge
    from unnest(v_workflows, v_limit_keys, v_freed, v_passed_on)
      as l (workflow, limit_key, freed, passed_on)
    join workflows as w on w.workflow = l.workflow
  ),
  chosen as materialized (
    select l.workflow, l.limit_key, r.iid, r.wake_at
    from lines as l
    cross join lateral (
      select r.iid, r.wake_at
      from (
        select a.iid
        from admissions as a
        where a.workflow = l.workflow
          and a.limit_key = l.limit_key
          and a.state = :ADMISSION.waiting
        order by a.priority desc, a.since, a.iid
        -- Some more, because other transactions may have locked the first.
        limit l.places + :MAX_SKIPPED
      ) as a
      cross join lateral (
        select r.iid, r.wake_at
        from runs as r
        where r.iid = a.iid
          and :UNADMITTED
          and not r.held
        limit 1
        for update skip locked
      ) as r
      limit l.places
    ) as r
    where l.places > 0
  ),
  unfinished as (
    select l.workflow, l.limit_key
    from lines as l
    left join lateral (
      select count(*) as handed_on, count(c.wake_at) as were_due
      from chosen as c
      where c.workflow = l.workflow
        and c.limit_key = l.limit_key
    ) as c on true
    -- One that was due had the line judged, for places besides these.
    where l.must_judge or c.handed_on < l.places or c.were_due > 0
  )
  select
    (select array_agg(c.iid) from chosen as c) as admitted,
    (select array_agg(u.workflow) from unfinished as u) as workflows,
    (select array_agg(u.limit_key) from unfinished as u) as limit_keys
  into v_unfinished;
  v_admitted := coalesce(v_unfinished.admitted, '{}');
  if cardinality(v_admitted) > 0 then
    update admissions
    set state = :ADMISSION.admitted
    where iid = any (v_admitted);
    update runs
    set admitted = true,
        wake_at = p_clock
    where iid = any (v_admitted);
  end if;
  if v_unfinished.workflows is not null then
    v_woken := wake_lines(v_unfinished.workflows, v_unfinished.limit_keys, p_clock);
  end if;
  return v_admitted || v_woken;
end
$$;
