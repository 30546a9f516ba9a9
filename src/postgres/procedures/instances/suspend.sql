-- Suspends unfinished instances, whatever their owner. Returns one letter for each, t or f: whether it
-- was unfinished.
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
  suspended := flags(v_iids, v_suspended);
end
$$;
