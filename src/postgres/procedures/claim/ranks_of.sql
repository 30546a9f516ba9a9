-- The priorities of what is or will be due, for each of these workflows. One index lookup per priority, not
-- per instance.
create or replace function ranks_of(p_workflows integer[])
  returns table (workflow integer, rank integer)
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_sort to off
as $$
#variable_conflict use_column
begin
  return query
  with recursive ranks as (
    select w.workflow, first.rank
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select :RANK as rank
      from runs as r
      where r.workflow = w.workflow
        and r.wake_at is not null
        and :ORDINARY
      order by :RANK desc
      limit 1
    ) as first
    union all
    select k.workflow, next.rank
    from ranks as k
    cross join lateral (
      select :RANK as rank
      from runs as r
      where r.workflow = k.workflow
        and :RANK < k.rank
        and r.wake_at is not null
        and :ORDINARY
      order by :RANK desc
      limit 1
    ) as next
  )
  select k.workflow, k.rank
  from ranks as k;
end
$$;
