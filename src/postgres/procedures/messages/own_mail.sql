-- Instances of a runtime that have messages. Bounded, for a small answer: the rest comes with later
-- ticks.
create or replace function own_mail(p_runtime integer)
  returns bigint[]
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
begin
  return array(
    select m.iid
    from (select distinct iid from inbox where not parked) as m
    -- The inner limit keeps the order of the join: from the few unparked messages to the runs.
    cross join lateral (
      select
      from runs as r
      where r.iid = m.iid
        and r.owner = p_runtime
      limit 1
    ) as own
    limit 10000
  );
end
$$;
