-- Notes those of the instances that ended without being completed, for search().
--
-- Settings: its caller's.
create or replace function note_unsuccessful(p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into unsuccessful (any_version, status, created_at, iid)
  select i.any_version, i.status, i.created_at, i.iid
  from unnest(p_iids) as e (iid)
  -- The limit keeps the order of the join: from the few that are given to the large table.
  cross join lateral (
    select
      -- A call that was running during migration 0020 may have left it null.
      coalesce(i.any_version, (any_versions(array[i.workflow]))[1]) as any_version,
      i.status, i.created_at, i.iid
    from instances as i
    where i.iid = e.iid
      and i.status > :STATUS.completed
    limit 1
  ) as i
  on conflict do nothing;
end
$$;
