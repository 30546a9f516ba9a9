-- For claim(): of instances that it is about to take, those that never ran and have a limit that their start
-- did not know of. The start was committed while the limit was registered, or they were suspended then. They
-- are lined up, and due: the next claim judges them. Returns them. The caller has locked their rows.
--
-- A request to end does not wait for a place: see admit().
--
-- Settings: its caller's.
create or replace function line_up_late(p_iids bigint[], p_clock bigint)
  returns bigint[]
  language plpgsql
  volatile
as $$
declare
  v_late bigint[];
begin
  if not has_limits() then
    return '{}';
  end if;
  v_late := array(
    select late.iid
    from unnest(p_iids) as f (iid)
    cross join lateral (
      select r.iid
      from runs as r
      where r.iid = f.iid
        and r.epoch = 0
        and r.admitted is null
        and (select true from limit_of(r.workflow))
        and (
          select true
          from inbox as m
          where m.iid = r.iid
            and m.kind > :KIND.failed
            and m.kind in (:KIND.cancel, :KIND.terminate)
          limit 1
        ) is null
      limit 1
    ) as late
  );
  if cardinality(v_late) > 0 then
    update runs
    set admitted = false
    where iid = any (v_late);
    perform line_up(p_clock, v_late, array_fill(null::text, array[cardinality(v_late)]));
  end if;
  return v_late;
end
$$;
