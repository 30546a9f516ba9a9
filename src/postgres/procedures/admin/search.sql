-- Finds instances, in the order of their creation. p_query is JSON, as `InstanceQuery` describes it.
-- Returns at most p_limit of them, how many there are, and where to continue: null at the end. With the
-- limit 0 it only counts.
--
-- Examines at most p_scan rows, so that each call is short whatever the filter: see search_source() for
-- which. They come in parts that are ordered by age, such as the workflows. No part is followed beyond its
-- share of p_scan; the nearest place at which one was left is the horizon of all.
--
-- Statements are composed of what the query asks for. Those without a filter read an index and no row.
create or replace function search(
  p_query text,
  p_after_at bigint,
  p_after_iid bigint,
  p_limit integer,
  p_scan integer,
  out iids bigint[],
  out matched bigint,
  out next_at bigint,
  out next_iid bigint
)
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_sort to off
as $$
declare
  v_query jsonb := p_query::jsonb;
  v_newest boolean := v_query ->> 'order' = 'newest';
  v_direction text := case when v_newest then 'desc' else 'asc' end;
  v_ended_until bigint := (v_query ->> 'finishedUntil')::bigint;
  v_from bigint := coalesce((v_query ->> 'createdFrom')::bigint, 0);
  -- What ended before a time was created before it.
  v_until bigint := least((v_query ->> 'createdUntil')::bigint, v_ended_until, 9223372036854775806);
  v_source record;
  v_range text;
  v_ats bigint[];
begin
  iids := '{}';
  matched := 0;
  select * into v_source from search_source(v_query);
  if v_source.parts = 0 then
    return;
  end if;

  -- Rows are compared as (created_at, iid).
  v_range := case when v_newest
    then format(' and (c.created_at, c.iid) < (%s, %s) and c.created_at >= %s',
      least(p_after_at, v_until),
      case when p_after_at < v_until then p_after_iid else -1 end,
      v_from)
    else format(' and (c.created_at, c.iid) > (%s, %s) and c.created_at < %s',
      greatest(p_after_at, v_from - 1),
      case when p_after_at >= v_from then p_after_iid else 9223372036854775807 end,
      v_until)
    end;

  -- A few rows are all examined. Without a filter, no more are read than are returned.
  if not v_source.is_few and (v_source.filter <> '' or p_limit = 0) then
    execute format(
      'select c.created_at, c.iid
      from %s
      cross join lateral (
        select c.created_at, c.iid
        from %s%s
        order by c.created_at %s, c.iid %4$s
        offset %s
        limit 1
      ) as c
      order by c.created_at %4$s, c.iid %4$s
      limit 1',
      v_source.each_part, v_source.candidates, v_range, v_direction,
      greatest(p_scan / v_source.parts, 1) - 1
    )
    into next_at, next_iid;
    if next_at is not null then
      v_range := v_range || format(
        ' and (c.created_at, c.iid) %s (%s, %s)', case when v_newest then '>=' else '<=' end, next_at, next_iid
      );
    end if;
  end if;

  if p_limit = 0 then
    execute format(
      'select count(*) from %s cross join lateral (select from %s%s%s) as c',
      v_source.each_part, v_source.rows, v_range, v_source.filter
    )
    into matched;
    return;
  end if;
  execute format(
    'select array_agg(f.iid order by f.created_at %4$s, f.iid %4$s),
      array_agg(f.created_at order by f.created_at %4$s, f.iid %4$s)
    from (
      select c.created_at, c.iid
      from %1$s
      cross join lateral (
        select c.created_at, c.iid
        from %2$s%3$s%6$s
        order by c.created_at %4$s, c.iid %4$s
        limit %5$s
      ) as c
      order by c.created_at %4$s, c.iid %4$s
      limit %5$s
    ) as f',
    v_source.each_part, v_source.rows, v_range, v_direction, p_limit + 1, v_source.filter
  )
  into iids, v_ats;
  iids := coalesce(iids, '{}');
  matched := cardinality(iids);
  if matched > p_limit then
    matched := p_limit;
    iids := iids[:p_limit];
    next_at := v_ats[p_limit];
    next_iid := iids[p_limit];
  end if;
end
$$;
