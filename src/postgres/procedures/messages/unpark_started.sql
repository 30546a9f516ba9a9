-- Unparks what was sent to an instance in the moment in which it was started, or removed. Its sender
-- parked it, because it was not started yet, and committed when the start had looked. The start left a
-- note (a time of -1), and whoever is still sending has locked it: see keep_unstarted().
create or replace function unpark_started()
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
as $$
declare
  v_iids bigint[] := array(
    select a.iid
    from absences as a
    where a.at < 0
    limit 5000
    for update skip locked
  );
begin
  if cardinality(v_iids) > 0 then
    -- In a new statement, which sees what those sent who had the lock before.
    update inbox
    set parked = false,
        early = false
    where iid = any (v_iids)
      and early;
    delete from absences
    where iid = any (v_iids);
  end if;
end
$$;
