-- Removes unstarted instances a week after their newest message, with all their messages. Returns how
-- many messages. Bounded, so that a tick stays short: the rest follows with later ticks.
--
-- Never waits for a lock; only a sender to an instance that is just removed waits for it.
create or replace function remove_unstarted(p_clock bigint)
  returns bigint
  language plpgsql
  volatile
  set enable_bitmapscan to off
as $$
declare
  v_until bigint := p_clock - :UNSTARTED_KEPT_MS;
  v_old bigint[];
  v_iid bigint;
  v_newest bigint;
  v_messages bigint;
  v_removed bigint := 0;
begin
  -- A sender has locked the row: see keep_unstarted().
  v_old := array(
    select a.iid
    from absences as a
    where a.at >= 0
      and a.at < v_until
    order by a.at
    limit :MAX_UNSTARTED_REMOVED
    for update skip locked
  );
  foreach v_iid in array v_old loop
    -- A new statement sees what was sent under the lock before.
    v_newest := (
      select max(m.at)
      from inbox as m
      where m.iid = v_iid
        and m.kind > :KIND.failed
    );
    if v_newest >= v_until then
      update absences
      set at = v_newest
      where iid = v_iid;
      continue;
    end if;

    perform
    from instances as i
    where i.iid = v_iid
      and i.status = :STATUS.unstarted
    for update skip locked;
    if found then
      delete from instances
      where iid = v_iid;
      delete from posted
      where iid = v_iid;
      delete from inbox
      where iid = v_iid;
      get diagnostics v_messages = row_count;
      v_removed := v_removed + v_messages;
    else
      -- It is just being started; or it was started or removed, and there is nothing to keep.
      continue when (
        select true
        from instances as i
        where i.iid = v_iid
          and i.status = :STATUS.unstarted
      );
    end if;
    delete from absences
    where iid = v_iid;
    exit when v_removed >= :MAX_UNSTARTED_MESSAGES_REMOVED;
  end loop;
  return v_removed;
end
$$;
