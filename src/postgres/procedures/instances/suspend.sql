-- Sets unfinished instances aside, whoever owns them. One letter for each, t or f: whether it was
-- unfinished.
create or replace function suspend(
  p_ids text,
  p_count integer,
  p_report text,
  out suspended text
)
  language plpgsql
  volatile
  -- A transaction of a user may have locked one of them: then it is tried again, and takes no
  -- connection from others meanwhile.
  set lock_timeout to '30ms'
as $$
declare
  v_clock bigint := now_ms();
  v_iids bigint[] := iids_of(p_ids, p_count);
  v_aside bigint[];
begin
  perform require_fresh_snapshots();
  perform be_durable();
  perform lock_owners(v_iids);

  with aside as (
    update runs
    set owner = null,
        -- Nobody has run it at 0, and so there is nobody to overrule: it stays one that was never run.
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
    from aside as a
    where i.iid = a.iid
  )
  select array_agg(a.iid)
  into v_aside
  from aside as a;
  suspended := flags(v_iids, v_aside);
end
$$;
