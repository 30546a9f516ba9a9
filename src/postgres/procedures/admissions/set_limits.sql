-- For register(): the limits of workflows, in the rows without a version. A limit that has changed judges
-- all its lines again. A new one applies to all instances that never ran, also those that were started
-- before a runtime said that there is a limit.
create or replace function set_limits(
  p_workflows integer[],
  p_concurrencies integer[],
  p_rate_counts integer[],
  p_rate_mss bigint[],
  -- Null for no limit.
  p_keyed boolean[],
  p_clock bigint
)
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_sort to off
as $$
#variable_conflict use_column
declare
  v_changed integer[];
  v_unlimited integer[] := array(
    select w.workflow
    from workflows as w
    where w.workflow = any (p_workflows)
      and w.version = ''
      and w.keyed is null
  );
begin
  with changed as (
    update workflows as w
    set concurrency = g.concurrency,
        rate_count = g.rate_count,
        rate_ms = g.rate_ms,
        keyed = g.keyed
    from unnest(p_workflows, p_concurrencies, p_rate_counts, p_rate_mss, p_keyed)
      as g (workflow, concurrency, rate_count, rate_ms, keyed)
    where w.workflow = g.workflow
      and w.version = ''
      and (w.concurrency, w.rate_count, w.rate_ms, w.keyed)
        is distinct from (g.concurrency, g.rate_count, g.rate_ms, g.keyed)
    returning w.workflow
  )
  select array_agg(c.workflow)
  into v_changed
  from changed as c;
  if v_changed is not null then
    -- Without a key, all are one line, also those whose key was never computed.
    update admissions as a
    set limit_key = ''
    where a.limit_key is null
      and a.state = :ADMISSION.unjudged
      and a.workflow in (
        select w.workflow from workflows as w where w.workflow = any (v_changed) and w.keyed is not true
      );
    with lined_up as (
      update runs as r
      set admitted = false
      from unnest(v_changed) as c (workflow)
      cross join lateral (
        select v.workflow
        from workflows as w
        join workflows as v on v.name = w.name
        where w.workflow = c.workflow
          and w.keyed is not null
          and w.workflow = any (v_unlimited)
      ) as version
      where r.workflow = version.workflow
        and r.wake_at is not null
        and r.epoch = 0
        and :ORDINARY
        and r.admitted is null
      returning r.iid, r.wake_at, r.priority, c.workflow
    )
    insert into admissions (iid, since, workflow, priority, state, limit_key)
    select
      u.iid, u.wake_at, u.workflow, coalesce(u.priority, 0), :ADMISSION.unjudged,
      case when (select w.keyed from workflows as w where w.workflow = u.workflow) then null else '' end
    from lined_up as u
    on conflict do nothing;
    perform wake_lines(array_agg(l.workflow), array_agg(l.limit_key), p_clock)
    from all_lines(v_changed, '', 2147483647) as l;
  end if;
end
$$;
