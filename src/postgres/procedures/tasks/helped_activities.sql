-- Of these activities, those that another live runtime could run, which has nothing to do.
--
-- Settings: any plan.
create or replace function helped_activities(p_runtime integer, p_activities text[], p_clock bigint)
  returns text[]
  language plpgsql
  stable
as $$
begin
  return array(
    select distinct a.activity
    from runtimes as r
    cross join unnest(r.activities) as a (activity)
    where r.state = :RUNTIME.alive
      and r.lease_until > p_clock
      and r.idle
      and r.runtime <> p_runtime
      and a.activity = any (p_activities)
  );
end
$$;
