-- Removes instances that do not run, with all their rows in all tables. The caller has locked them.
create or replace function remove_rows(p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  if p_iids = '{}' then
    return;
  end if;
  with gone as (
    delete from instances
    where iid = any (p_iids)
    returning iid, any_version, created_at, status, labels
  ),
  failure as (
    delete from unsuccessful as u
    using gone as g
    where g.status > :STATUS.completed
      and u.any_version = g.any_version
      and u.status = g.status
      and u.created_at = g.created_at
      and u.iid = g.iid
  )
  delete from labels as l
  using gone as g
  cross join lateral jsonb_each_text(g.labels::jsonb) as own
  where g.labels is not null
    and l.label = label_key(own.key, own.value)
    and l.created_at = g.created_at
    and l.iid = g.iid;
  delete from history where iid = any (p_iids);
  delete from state where iid = any (p_iids);
  delete from inbox where iid = any (p_iids);
  delete from posted where iid = any (p_iids);
  perform remove_tasks(p_iids, null);
end
$$;
