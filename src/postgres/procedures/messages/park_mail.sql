-- Parks the messages of instances without an owner, which claims and ticks would otherwise read again
-- and again. A claimable instance becomes due instead, and due instances are found by their workflow.
-- One that is not claimable (suspended, scheduled, unstarted) has its messages read when it is resumed,
-- due or started.
--
-- A runtime that was notified of a message finds the run locked until this is committed, and gives up:
-- so runtimes that can claim what becomes due are notified again, with the commit.
--
-- A message is parked under a lock on the row that leads to it: the run, or the unstarted instance.
-- Bounded, so that a tick stays short: returns whether a bound was reached, and another tick should
-- follow soon.
create or replace function park_mail(p_clock bigint)
  returns boolean
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
declare
  v_runs bigint[];
  v_unstarted bigint[];
  v_due bigint[];
  v_messages integer := 0;
begin
  if (select true from inbox where not parked limit 1) is null then
    return false;
  end if;
  -- Both in one pass: there may be much to look at.
  select
    coalesce(array_agg(found.iid) filter (where found.is_run), '{}'),
    coalesce(array_agg(found.iid) filter (where not found.is_run), '{}')
  into v_runs, v_unstarted
  from (
    select found.iid, found.is_run
    from (select distinct iid from inbox where not parked) as m
    cross join lateral (
      select unowned.iid, true as is_run
      from (
        select r.iid
        from runs as r
        where r.iid = m.iid
          and r.owner is null
        limit 1
        for update skip locked
      ) as unowned
      union all
      select unstarted.iid, false
      from (
        select i.iid
        from instances as i
        where i.iid = m.iid
          and i.status = :STATUS.unstarted
        limit 1
        for update skip locked
      ) as unstarted
    ) as found
    limit :MAX_MAIL_PARKED
  ) as found;
  if cardinality(v_runs) > 0 then
    with woken as (
      update runs as r
      set wake_at = p_clock
      where r.iid = any (v_runs)
        and :WAKEABLE
        and (r.wake_at is null or r.wake_at > p_clock)
      returning r.iid
    )
    select array_agg(w.iid)
    into v_due
    from woken as w;
    if v_due is not null then
      perform tell_within(v_due, true);
    end if;
  end if;
  if cardinality(v_runs) + cardinality(v_unstarted) > 0 then
    update inbox as m
    set parked = true,
        early = m.iid = any (v_unstarted)
    from (
      select u.iid, u.id
      from unnest(v_runs || v_unstarted) as p (iid)
      cross join lateral (
        select w.iid, w.id
        from inbox as w
        where w.iid = p.iid
          and not w.parked
      ) as u
      limit :MAX_MESSAGES_PARKED
    ) as u
    where m.iid = u.iid
      and m.id = u.id;
    get diagnostics v_messages = row_count;
  end if;
  return cardinality(v_runs) + cardinality(v_unstarted) >= :MAX_MAIL_PARKED
    or v_messages >= :MAX_MESSAGES_PARKED;
end
$$;
