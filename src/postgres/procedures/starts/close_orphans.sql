-- Asks children to end whose parent ended before they were started: the end of the parent did not see
-- them. Waits for a parent that is just ending, and does not delay one that continues.
create or replace function close_orphans(p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  -- The inner limits keep the order of the joins: from the few that are given to the large table.
  perform
  from (
    select child.parent_iid
    from unnest(p_iids) as p (iid)
    cross join lateral (
      select c.parent_iid
      from instances as c
      where c.iid = p.iid
        and c.on_close < :ON_CLOSE.abandon
      limit 1
    ) as child
    order by child.parent_iid
  ) as link
  cross join lateral (
    select
    from runs as r
    where r.iid = link.parent_iid
    limit 1
    for key share
  ) as parent;

  insert into inbox (iid, kind, name, payload)
  select child.iid, child.on_close + :KIND_OF_CLOSE, '', :PARENT_CLOSED
  from unnest(p_iids) as p (iid)
  cross join lateral (
    select c.iid, c.on_close
    from instances as c
    where c.iid = p.iid
      and c.on_close < :ON_CLOSE.abandon
      and c.status = :STATUS.running
      and (select true from runs as parent where parent.iid = c.parent_iid limit 1) is null
    limit 1
  ) as child
  order by child.iid;
  perform wake_unadmitted(p_iids);
end
$$;
