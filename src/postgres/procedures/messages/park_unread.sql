-- Of these instances, those whose mail is parked when it is sent, because nobody would find it now:
--
--   - suspended ones, and those whose first turn is not due for a while. They read it when they are
--     resumed, or fall due;
--   - those of a workflow that no live runtime has. They become due, which runtimes that have the
--     workflow find at no cost to the others.
--
-- Whoever changes that has to lock the run, and meets the lock that is kept here until the end of the
-- transaction: a claim passes over the instance, resume() waits. So nobody reads the inbox in between,
-- and misses what is not committed yet. Waits for nobody: mail of a run that somebody else has locked
-- is not parked, and found like any other.
create or replace function park_unread(p_iids bigint[], p_clock bigint)
  returns bigint[]
  language plpgsql
  volatile
as $$
declare
  v_iids bigint[] := array(
    select r.iid
    from runs as r
    where r.iid = any (p_iids)
      and r.owner is null
    order by r.iid
  );
  v_unread bigint[];
  v_unserved bigint[];
begin
  if cardinality(v_iids) = 0 then
    return v_iids;
  end if;
  v_unread := array(
    select r.iid
    from runs as r
    where r.iid = any (v_iids)
      and r.owner is null
      and (
        r.held
        or r.epoch = 0 and r.wake_at > p_clock + :FIRST_TURN_FAR_MS
        or r.wake_at <= p_clock and not is_served(r.workflow, p_clock)
      )
    for key share skip locked
  );
  v_unserved := array(
    select r.iid
    from runs as r
    where r.iid = any (v_iids)
      and :WAKEABLE
      and (r.wake_at is null or r.wake_at > p_clock)
      and not is_served(r.workflow, p_clock)
    for no key update skip locked
  );
  if cardinality(v_unserved) > 0 then
    update runs
    set wake_at = p_clock
    where iid = any (v_unserved);
  end if;
  return v_unread || v_unserved;
end
$$;
