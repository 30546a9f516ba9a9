-- An instance and all its descendants, each after its parent, siblings by their creation; at most
-- p_limit. With p_from_root the same for its topmost ancestor. Those that a workflow started
-- independently are no descendants.
create or replace function tree(
  p_iid bigint,
  p_from_root boolean,
  p_limit integer,
  out iids bigint[]
)
  language plpgsql
  stable
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_top bigint := p_iid;
  v_above bigint;
  v_level bigint[];
begin
  loop
    exit when not p_from_root;
    v_above := (
      select above.iid
      from instances as i
      join instances as above on above.iid = i.parent_iid
      where i.iid = v_top
        and i.on_close < :ON_CLOSE.independent
    );
    exit when v_above is null;
    v_top := v_above;
  end loop;
  iids := array(
    select i.iid
    from instances as i
    where i.iid = v_top
      and i.status > :STATUS.unstarted
  );
  v_level := iids;
  -- One level after the other: a child may not be older than its parent, but it is below it.
  while cardinality(v_level) > 0 and cardinality(iids) < p_limit loop
    v_level := array(
      select child.iid
      from unnest(v_level) with ordinality as g (iid, place)
      cross join lateral (
        select i.iid, i.created_at
        from instances as i
        where i.parent_iid = g.iid
          and i.on_close < :ON_CLOSE.independent
        order by i.created_at, i.iid
        limit p_limit
      ) as child
      order by g.place, child.created_at, child.iid
      limit p_limit - cardinality(iids)
    );
    iids := iids || v_level;
  end loop;
end
$$;
