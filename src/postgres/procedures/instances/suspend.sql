-- Suspends unfinished instances, whatever their owner. What is suspended already keeps the report of why it
-- is. Returns one letter for each, t or f: whether it was unfinished.
create or replace function suspend(
  p_ids text,
  p_count integer,
  p_report text,
  out suspended text
)
  language plpgsql
  volatile
  -- A transaction of a user may have locked one of them: then the call fails and is retried, and
  -- occupies no connection meanwhile.
  set lock_timeout to '30ms'
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[] := iids_of(p_ids, p_count);
  v_suspended bigint[];
  v_waiting bigint[];
  v_woken bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  perform lock_owners(v_iids);

  with suspended_runs as (
    update runs
    set owner = null,
        -- At 0 it never ran, and no owner has to be superseded: it stays at 0.
        epoch = case when epoch = 0 then 0 else epoch + 1 end,
        due_at = case when epoch = 0 then coalesce(wake_at, due_at) end,
        wake_at = null,
        held = true
    where iid = any (v_iids)
      and not held
    returning iid
  ),
  told as (
    update instances as i
    set report = p_report,
        updated_at = v_clock
    from suspended_runs as a
    where i.iid = a.iid
  )
  select array_agg(a.iid)
  into v_suspended
  from suspended_runs as a;
  suspended := flags(v_iids, array(select r.iid from runs as r where r.iid = any (v_iids)));

  -- One that is not admitted leaves its line, and keeps its place in it.
  v_waiting := array(select r.iid from runs as r where r.iid = any (v_suspended) and :UNADMITTED);
  if cardinality(v_waiting) > 0 then
    perform lock_lines(array_agg(l.workflow), array_agg(l.limit_key), false)
    from lines_of(v_waiting) as l
    where l.limit_key is not null;
    update admissions
    set state = :ADMISSION.unjudged
    where iid = any (v_waiting)
      and state = :ADMISSION.waiting;
    v_woken := (
      select wake_lines(array_agg(l.workflow), array_agg(l.limit_key), v_clock)
      from lines_of(v_waiting) as l
      where l.limit_key is not null
    );
    if cardinality(v_woken) > 0 then
      perform tell_within(v_woken, true);
    end if;
  end if;
end
$$;
