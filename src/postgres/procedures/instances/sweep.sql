-- Removes outdated rows: replies older than an hour, tasks that were locked when they were dropped,
-- sessions without tasks that were idle for an hour, and limits that recovered an hour ago. Bounded, so
-- that a tick stays short: the rest follows with later ticks.
create or replace function sweep(p_clock bigint)
  returns void
  language plpgsql
  volatile
  set enable_bitmapscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
  set enable_hashagg to off
as $$
declare
  v_old text[];
  v_replies_until bigint := p_clock - :REPLY_KEPT_MS;
  v_sessions_until bigint := p_clock - :SESSION_KEPT_MS;
  v_limits_until bigint := p_clock - 3600000;
begin
  v_old := array(
    select r.reply_to
    from replies as r
    where r.at < v_replies_until
    order by r.at
    limit 10000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from replies
    where reply_to = any (v_old);
  end if;

  perform sweep_tasks();

  v_old := array(
    select s.session
    from sessions as s
    where s.touched_at < v_sessions_until
      and (select true from tasks as t where t.session = s.session limit 1) is null
    order by s.touched_at
    limit 1000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from sessions
    where session = any (v_old);
  end if;

  v_old := array(
    select l.limit_key
    from limits as l
    where l.spent_until < v_limits_until * :MICROS_PER_MS
    order by l.spent_until
    limit 1000
    for update skip locked
  );
  if cardinality(v_old) > 0 then
    delete from limits
    where limit_key = any (v_old);
  end if;
end
$$;
