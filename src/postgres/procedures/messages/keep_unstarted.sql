-- Keeps the unstarted ones of these instances from being removed by remove_unstarted() until the end of
-- the transaction, which is about to send messages to them. Waits only for a removal that is running.
-- False if one of them was removed or started, so that its id has to be looked up again. A start
-- meanwhile leaves a note for unpark_started().
create or replace function keep_unstarted(p_iids bigint[], p_clock bigint)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_known bigint;
  v_unstarted bigint[];
  v_kept integer;
begin
  select count(*), coalesce(array_agg(i.iid) filter (where i.status = :STATUS.unstarted), '{}')
  into v_known, v_unstarted
  from instances as i
  where i.iid = any (p_iids);
  if v_known < (select count(distinct g.iid) from unnest(p_iids) as g (iid)) then
    return false;
  end if;
  if cardinality(v_unstarted) = 0 then
    return true;
  end if;
  -- Before the insert: that would wait for a start, which changes the row.
  perform
  from absences as a
  where a.iid = any (v_unstarted)
  order by a.iid
  for key share;
  get diagnostics v_kept = row_count;
  if v_kept < cardinality(v_unstarted) then
    insert into absences (at, iid)
    select p_clock, a.iid
    from unnest(v_unstarted) as a (iid)
    order by a.iid
    on conflict do nothing;

    perform
    from absences as a
    where a.iid = any (v_unstarted)
    order by a.iid
    for key share;
  end if;

  -- A new statement sees what was committed while the lock was waited for.
  return (
    select count(*) = cardinality(v_unstarted)
    from instances as i
    where i.iid = any (v_unstarted)
      and i.status = :STATUS.unstarted
  );
end
$$;
