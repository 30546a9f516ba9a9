-- The lines of these workflows in which instances wait, from a key on. One index lookup per line, not per
-- instance.
create or replace function all_lines(p_workflows integer[], p_from text, p_most integer)
  returns table (workflow integer, limit_key text)
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
  with recursive lines as (
    select w.workflow, first.limit_key
    from unnest(p_workflows) as w (workflow)
    cross join lateral (
      select a.limit_key
      from admissions as a
      where a.workflow = w.workflow
        and a.state = :ADMISSION.waiting
        and a.limit_key >= p_from collate "C"
      order by a.limit_key
      limit 1
    ) as first
    union all
    select l.workflow, next.limit_key
    from lines as l
    cross join lateral (
      select a.limit_key
      from admissions as a
      where a.workflow = l.workflow
        and a.state = :ADMISSION.waiting
        and a.limit_key > l.limit_key
      order by a.limit_key
      limit 1
    ) as next
  )
  select l.workflow, l.limit_key
  from lines as l
  limit p_most;
end
$$;
