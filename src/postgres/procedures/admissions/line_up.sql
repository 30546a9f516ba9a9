-- New instances that are not admitted yet wait for the limit of their workflow: the first claim after they
-- are due judges it. Takes no lock, because a start may be part of a transaction that a user keeps open.
create or replace function line_up(
  p_clock bigint,
  p_iids bigint[],
  -- Null where the caller did not know the key.
  p_limit_keys text[]
)
  returns void
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  insert into admissions (iid, since, workflow, priority, state, limit_key)
  select
    r.iid, greatest(r.wake_at, p_clock), l.workflow, r.priority, :ADMISSION.unjudged,
    case when l.keyed then p_limit_keys[g.place] else '' end
  from unnest(p_iids) with ordinality as g (iid, place)
  cross join lateral (
    select r.iid, r.wake_at, r.workflow, coalesce(r.priority, 0) as priority
    from runs as r
    where r.iid = g.iid
      and :UNADMITTED
    limit 1
  ) as r
  cross join lateral limit_of(r.workflow) as l;
end
$$;
