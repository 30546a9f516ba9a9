-- The lanes with ready tasks that a runtime serves, each with its first task: from p_from on, at most
-- p_most. p_tags are the tags that it serves, an empty one for untagged tasks; with p_any_tag, it serves
-- all other tags too.
--
-- One index lookup per lane, not per task.
create or replace function ready_lanes(
  p_activities text[],
  p_tags text[],
  p_any_tag boolean,
  p_from bigint,
  p_most integer
)
  returns table (
    activity text,
    tag text,
    lane bigint,
    number bigint,
    deaths smallint,
    session text,
    limit_key text,
    concurrency integer,
    rate_count integer,
    rate_ms bigint
  )
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
  with recursive named as (
    select a.activity, '' collate "C" as tag
    from unnest(p_activities) as a (activity)
    where p_any_tag
    union all
    select n.activity, next.tag
    from named as n
    cross join lateral (
      select t.tag
      from tasks as t
      where t.activity = n.activity collate "C"
        and t.tag > n.tag
        and t.held_by is null
        and t.visible_at is null
        and t.lane is not null
      order by t.tag
      limit 1
    ) as next
  ),
  lanes as (
    select
      served.activity, served.tag, p_from - 1 as lane, null::bigint as number,
      null::smallint as deaths, null::text collate "C" as session,
      null::text collate "C" as limit_key, null::integer as concurrency,
      null::integer as rate_count, null::bigint as rate_ms
    from (
      select a.activity, s.tag collate "C" as tag
      from unnest(p_activities) as a (activity)
      cross join unnest(p_tags) as s (tag)
      union all
      select n.activity, n.tag
      from named as n
      where n.tag <> ''
    ) as served
    union all
    select
      l.activity, l.tag, next.lane, next.number, next.deaths, next.session, next.limit_key,
      next.concurrency, next.rate_count, next.rate_ms
    from lanes as l
    cross join lateral (
      select
        t.lane, t.number, t.deaths, t.session, t.limit_key, t.concurrency, t.rate_count, t.rate_ms
      from tasks as t
      where t.activity = l.activity collate "C"
        and t.tag = l.tag
        and t.lane > l.lane
        and t.held_by is null
        and t.visible_at is null
      order by t.lane, t.number
      limit 1
    ) as next
  )
  select l.*
  from lanes as l
  where l.number is not null
  limit p_most;
end
$$;
