-- Removes instances that were never started, a week after the newest message for them, with all
-- their messages. Returns how many messages these were. Bounded, so that a tick stays short: the
-- rest goes with later ticks.
--
-- Never waits, and nobody but a sender to one that is just removed waits for it.
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
  -- Somebody who is just sending has locked the row: see keep_unstarted().
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
    -- In a new statement, which sees what those sent who had the lock before.
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
      and i.status = :STATUS.absent
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
      -- Somebody is just starting it; or it was started or removed, and there is nothing to keep.
      continue when (
        select true
        from instances as i
        where i.iid = v_iid
          and i.status = :STATUS.absent
      );
    end if;
    delete from absences
    where iid = v_iid;
    exit when v_removed >= :MAX_UNSTARTED_MESSAGES_REMOVED;
  end loop;
  return v_removed;
end
$$;
