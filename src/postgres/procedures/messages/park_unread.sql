-- Returns those of these instances whose messages are parked when they are sent, because no runtime can
-- read them now:
--
--   - suspended and scheduled ones, which read their messages when they are resumed or due, or admitted by
--     the limit of their workflow;
--   - those of a workflow that no live runtime has. They become due, and runtimes that have the workflow
--     find them at no cost to the others.
--
-- A change of that state needs a lock on the run, which this transaction keeps to its end: a claim skips
-- the instance, and resume() waits. So the inbox is not read before the message is committed. Never
-- waits: messages of a run that another transaction has locked are not parked, and found as usual.
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
        or :UNADMITTED
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
