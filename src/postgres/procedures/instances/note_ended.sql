-- Records the end of instances whose workflow has a retention, for remove_expired().
--
-- Settings: its caller's.
create or replace function note_ended(p_clock bigint, p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  -- Most schemas have no retention: then no instance is looked up.
  if (select true from workflows as w where w.retention_ms is not null limit 1) then
    insert into ended (at, iid, workflow)
    select p_clock, e.iid, i.workflow
    from unnest(p_iids) as e (iid)
    -- The limit keeps the order of the join: from the few that are given to the large table.
    cross join lateral (
      select i.workflow
      from instances as i
      where i.iid = e.iid
        and i.status > :STATUS.running
      limit 1
    ) as i
    where (select w.retention_ms from workflows as w where w.workflow = i.workflow) is not null
    order by e.iid
    -- An execution of it was followed by this one in the same millisecond.
    on conflict (workflow, at, iid) do update
    set execution = null;
  end if;
end
$$;
