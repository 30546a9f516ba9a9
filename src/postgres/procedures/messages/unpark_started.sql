-- Unparks messages that were sent to an instance while it was being started or removed. Their senders
-- parked them, because it was unstarted, and committed after the start had looked. The start left a note
-- (a time of -1), which a transaction that is still sending has locked: see keep_unstarted().
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
    -- A new statement sees what was sent under the lock before.
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
