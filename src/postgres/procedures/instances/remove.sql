-- Removes instances that have ended, or were never started, with all their rows; returns how many.
create or replace function remove(p_ids text, p_count integer, out removed bigint)
  language plpgsql
  volatile
  -- A transaction of a user may have locked one of them: then the call fails and is retried, and
  -- occupies no connection meanwhile.
  set lock_timeout to '30ms'
as $$
declare
  v_iids bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  v_iids := array(
    select i.iid
    from instances as i
    where i.iid = any (iids_of(p_ids, p_count))
      and i.status <> :STATUS.running
    order by i.id
    for update
  );
  -- For messages that are just being sent to an unstarted one: see unpark_started().
  update absences set at = -1 where iid = any (v_iids);
  perform remove_rows(v_iids);
  removed := cardinality(v_iids);
end
$$;
