-- Removes instances that have ended, each with all its descendants, or not at all. Returns a letter for
-- each, in order (d removed, w its parent runs and may look for it, r it or a descendant has not ended, u
-- there is no such instance), and how many instances were removed with each. With p_together, none is
-- removed unless all can be: the counts are 0 then. The w comes before the r, which a caller may take as
-- a reason to terminate the instance.
--
-- The rows are locked before they are judged. What is started below one of them later finds its parent
-- gone, and is asked to end: see close_orphans().
create or replace function remove_trees(
  p_iids bigint[],
  p_together boolean,
  out verdicts text,
  out counts bigint[]
)
  language plpgsql
  volatile
  -- A transaction of a user may have locked one of them: then the call fails and is retried, and
  -- occupies no connection meanwhile.
  set lock_timeout to '30ms'
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
declare
  v_iid bigint;
  v_tree bigint[];
  v_locked bigint[];
  v_gone bigint[] := '{}';
  v_count bigint;
  v_letter text;
begin
  perform require_fresh_snapshots();
  perform be_durable();
  verdicts := '';
  counts := '{}';
  foreach v_iid in array p_iids loop
    v_tree := '{}';
    -- Until nothing is added: a descendant may have been started before its parent was locked.
    loop
      v_locked := array(
        select i.iid
        from instances as i
        where i.iid = any ((select t.iids from tree(v_iid, false, 2147483647) as t)::bigint[])
          and i.iid <> all (v_tree)
        order by i.id
        for update
      );
      exit when v_locked = '{}';
      v_tree := v_tree || v_locked;
    end loop;
    v_count := 0;
    if v_tree = '{}' then
      v_letter := 'u';
    elsif (
      select true
      from instances as i
      join instances as p on p.iid = i.parent_iid
      where i.iid = v_iid
        and p.status = :STATUS.running
        and p.execution = i.parent_execution
    ) then
      v_letter := 'w';
    elsif (
      select true
      from instances as i
      where i.iid = any (v_tree)
        and i.status = :STATUS.running
      limit 1
    ) then
      v_letter := 'r';
    else
      v_letter := 'd';
      -- It may be below another one of p_iids.
      v_tree := array(select t.iid from unnest(v_tree) as t (iid) where t.iid <> all (v_gone));
      v_count := cardinality(v_tree);
      v_gone := v_gone || v_tree;
    end if;
    verdicts := verdicts || v_letter;
    counts := counts || v_count;
  end loop;
  if p_together and verdicts ~ '[rw]' then
    counts := array_fill(0::bigint, array[cardinality(p_iids)]);
    return;
  end if;
  perform remove_rows(v_gone);
end
$$;
