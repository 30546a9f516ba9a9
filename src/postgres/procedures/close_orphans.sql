-- Asks children to end whose parent ended before their start arrived: nobody else would. A parent
-- that is just ending is waited for, because it cannot see them; one that goes on is not held up.
create or replace function close_orphans(p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  perform
  from unnest(p_iids) as p (iid)
  join instances as child on child.iid = p.iid
  join runs as r on r.iid = child.parent_iid
  where child.on_close < 3
  order by r.iid
  for key share of r;

  insert into inbox (iid, kind, name, payload)
  select child.iid, child.on_close + 3, '', '"parent closed"'
  from unnest(p_iids) as p (iid)
  join instances as child on child.iid = p.iid
  join runs as own on own.iid = child.iid
  left join runs as parent on parent.iid = child.parent_iid
  where child.on_close < 3
    and parent.iid is null
  order by child.iid;
end
$$;
