-- Of these instances, keeps those that were never started from being removed by remove_unstarted(),
-- until the end of the transaction: something is about to be sent to them. Waits for a removal under
-- way, and for nothing else. False when one of them is gone or started, so that its id has to be looked
-- up again. Who starts one meanwhile leaves a note for unpark_started().
create or replace function keep_unstarted(p_iids bigint[], p_clock bigint)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_absent bigint[] := array(
    select i.iid
    from instances as i
    where i.iid = any (p_iids)
      and i.status = :STATUS.absent
  );
  v_kept integer;
begin
  if cardinality(v_absent) = 0 then
    return true;
  end if;
  -- Before the insert: that would wait for a start, which changes the row.
  perform
  from absences as a
  where a.iid = any (v_absent)
  order by a.iid
  for key share;
  get diagnostics v_kept = row_count;
  if v_kept < cardinality(v_absent) then
    insert into absences (at, iid)
    select p_clock, a.iid
    from unnest(v_absent) as a (iid)
    order by a.iid
    on conflict do nothing;

    perform
    from absences as a
    where a.iid = any (v_absent)
    order by a.iid
    for key share;
  end if;

  -- In a new statement, which sees what the lock waited for.
  return (
    select count(*) = cardinality(v_absent)
    from instances as i
    where i.iid = any (v_absent)
      and i.status = :STATUS.absent
  );
end
$$;
