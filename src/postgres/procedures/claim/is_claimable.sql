-- Whether claim() would find anything of these workflows for a runtime.
create or replace function is_claimable(
  p_runtime integer,
  p_workflows integer[],
  p_clock bigint
)
  returns boolean
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
begin
  return coalesce(
    -- Also if only a limit has to be judged.
    nullif(next_wake(p_workflows) <= p_clock, false),
    (
      select not has_quarantined(p_runtime)
      from unnest(p_workflows) as w (workflow)
      cross join lateral (
        select r.iid
        from runs as r
        where r.workflow = w.workflow
          and r.wake_at <= p_clock
          and :QUARANTINED
        limit 1
      ) as quarantined
      limit 1
    ),
    (
      select true
      from (select distinct iid from inbox where not parked) as m
      -- The inner limit keeps the order of the join: from the mail, which is little, to the runs.
      cross join lateral (
        select
        from runs as r
        where r.iid = m.iid
          and :WAKEABLE
          and :ORDINARY
          and r.workflow = any (p_workflows)
        limit 1
      ) as unowned
      limit 1
    ),
    false
  );
end
$$;
