-- For search(): where the instances come from that a query may find, and what to compare them with.
--
-- parts is how many ordered parts there are, 0 if nothing can match; each_part is a table of them.
-- candidates is a table `c` with created_at and iid, and the condition that makes it one part; rows is the
-- same with the row `i` of each instance, for the conditions of filter. is_few: there is one row in each
-- part, and few parts.
--
-- Settings: its caller's.
create or replace function search_source(
  p_query jsonb,
  out parts integer,
  out each_part text,
  out candidates text,
  out rows text,
  out filter text,
  out is_few boolean
)
  language plpgsql
  stable
as $$
declare
  v_query jsonb := p_query;
  v_statuses jsonb := nullif(p_query -> 'statuses', 'null');
  v_prefix text := p_query ->> 'idPrefix';
  v_last text := v_prefix || repeat(chr(1114111), 500);
  v_ends smallint[] := end_statuses(v_statuses);
  v_is_unfinished boolean := coalesce(
    not v_statuses ?| array['completed', 'failed', 'cancelled', 'terminated'], false
  );
  v_is_unsuccessful boolean := coalesce(
    not v_statuses ?| array['scheduled', 'running', 'suspended', 'completed'], false
  );
  -- Rows that are candidates themselves.
  v_own_row text := 'instances as c cross join lateral (select c.*) as i';
  v_workflows integer[];
  v_label bigint;
  v_label_count bigint;
  v_parent bigint;
  v_few bigint[];
begin
  is_few := false;
  parts := 0;
  v_workflows := array(
    select w.workflow
    from workflows as w
    where w.version = ''
      and (p_query ->> 'workflow' is null or w.name = p_query ->> 'workflow')
      and (
        p_query ->> 'version' is null
        or exists (
          select
          from workflows as v
          where v.name = w.name
            and v.version = p_query ->> 'version'
        )
      )
  );
  if v_workflows = '{}' then
    return;
  end if;

  if p_query ->> 'parent' is not null then
    v_parent := (select i.iid from instances as i where i.id = p_query ->> 'parent' collate "C");
    if v_parent is null then
      return;
    end if;
    parts := 1;
    each_part := format('(values (%s::bigint)) as p (iid)', v_parent);
    candidates := 'instances as c where c.parent_iid = p.iid';
    rows := v_own_row || ' where c.parent_iid = p.iid and c.on_close < :ON_CLOSE.independent';
    filter := search_filter(v_query);
    return;
  end if;

  -- Of several labels, one that fewer instances have.
  if p_query -> 'labels' <> '{}' then
    select l.label, l.count
    into v_label, v_label_count
    from (
      select
        label_key(e.key, e.value) as label,
        (
          select count(*)
          from (
            select
            from labels as n
            where n.label = label_key(e.key, e.value)
            limit :MAX_FEW
          ) as n
        ) as count
      from jsonb_each_text(p_query -> 'labels') as e
    ) as l
    order by l.count
    limit 1;
  end if;

  -- Sources without an order of their own are used when they have few rows.
  if v_label is null or v_label_count = :MAX_FEW then
    if v_is_unfinished and not v_statuses ?| array['scheduled', 'running'] then
      v_few := array(select r.iid from runs as r where r.held limit :MAX_FEW + 1);
    elsif v_is_unfinished then
      v_few := array(select r.iid from runs as r limit :MAX_FEW + 1);
    end if;
    if v_prefix is not null and (v_few is null or cardinality(v_few) > :MAX_FEW) then
      -- Whether there are more is read from the index alone.
      perform
      from instances as i
      where i.id >= v_prefix collate "C"
        and i.id <= v_last collate "C"
      offset :MAX_FEW
      limit 1;
      v_few := case when not found then array(
        select i.iid
        from instances as i
        where i.id >= v_prefix collate "C"
          and i.id <= v_last collate "C"
      ) end;
    end if;
    if cardinality(v_few) between 0 and :MAX_FEW then
      is_few := true;
      parts := cardinality(v_few);
      each_part := format('unnest(%L::bigint[]) as p (iid)', v_few);
      candidates := 'instances as c where c.iid = p.iid';
      rows := v_own_row || ' where c.iid = p.iid and c.any_version is not null';
      filter := search_filter(v_query);
      return;
    end if;
  end if;

  if v_label is not null and not (v_label_count = :MAX_FEW and v_is_unsuccessful) then
    parts := 1;
    each_part := format('(values (%s::bigint)) as p (label)', v_label);
    candidates := 'labels as c where c.label = p.label';
  else
    parts := cardinality(v_workflows);
    each_part := format('unnest(%L::integer[]) as p (workflow)', v_workflows);
    v_query := v_query - 'workflow';
    if not v_is_unsuccessful then
      candidates := 'instances as c where c.any_version = p.workflow';
      rows := v_own_row || ' where c.any_version = p.workflow';
      filter := search_filter(v_query);
      return;
    end if;
    v_query := v_query - 'statuses';
    parts := parts * cardinality(v_ends);
    each_part := each_part || format(' cross join unnest(%L::smallint[]) as s (status)', v_ends);
    candidates := 'unsuccessful as c where c.any_version = p.workflow and c.status = s.status';
  end if;
  filter := search_filter(v_query);
  -- The limit keeps the order of the join: from the candidates to the large table.
  rows := case when filter = ''
    then candidates
    else replace(
      candidates, ' where ',
      ' cross join lateral (select i.* from instances as i where i.iid = c.iid limit 1) as i where '
    )
    end;
end
$$;
