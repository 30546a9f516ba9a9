-- For claim(): judges the limits of instances that are due and not admitted. Those that are admitted are
-- due, like any other; the rest waits in line, and is not due until a place is free.
--
-- Returns instances whose key is not known yet: the caller computes it and calls set_limit_keys(). And
-- whether there may be more to judge than one call does.
create or replace function admit_due(
  p_workflows integer[],
  p_hinted bigint[],
  p_clock bigint,
  out unkeyed bigint[],
  out has_more boolean
)
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
#variable_conflict use_column
declare
  v_iids bigint[];
  v_line record;
  v_timeout text := current_setting('lock_timeout');
begin
  -- Hinted ones first: a start is judged at once, however many starts of other keys arrived before it.
  v_iids := array(
    select r.iid
    from (select distinct h.iid from unnest(p_hinted) as h (iid)) as h
    cross join lateral (
      select r.iid
      from runs as r
      where r.iid = h.iid
        and r.workflow = any (p_workflows)
        and r.wake_at <= p_clock
        and :UNADMITTED
      limit 1
    ) as r
    limit :MAX_JUDGED
  );
  v_iids := v_iids || array(
    select due.iid
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select r.iid
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at <= p_clock
        and :UNADMITTED
        and r.iid <> all (v_iids)
      order by r.wake_at
      limit :MAX_JUDGED
    ) as due
    limit :MAX_JUDGED - cardinality(v_iids)
  );
  has_more := cardinality(v_iids) >= :MAX_JUDGED;
  if cardinality(v_iids) = 0 then
    return;
  end if;

  -- Nothing else is locked yet: a commit that waits for a line is not waited for here.
  perform set_config('lock_timeout', '1s', true);
  perform lock_lines(array_agg(l.workflow), array_agg(l.limit_key), true)
  from lines_of(v_iids) as l
  where l.limit_key is not null;
  perform set_config('lock_timeout', v_timeout, true);

  for v_line in
    select l.workflow, l.limit_key, l.iids
    from lines_of(v_iids) as l
    where l.limit_key is not null
  loop
    perform admit(v_line.workflow, v_line.limit_key, v_line.iids, p_clock);
  end loop;
  unkeyed := array(select unnest(l.iids) from lines_of(v_iids) as l where l.limit_key is null);
end
$$;
