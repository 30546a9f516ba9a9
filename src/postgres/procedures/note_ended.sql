-- Notes the end of instances whose workflow does not want them kept for ever, for remove_expired().
create or replace function note_ended(p_clock bigint, p_iids bigint[])
  returns void
  language plpgsql
  volatile
  set search_path from current
  set plan_cache_mode to force_generic_plan
  set enable_seqscan to off
  set enable_hashjoin to off
  set enable_mergejoin to off
as $$
begin
  -- Most schemas have none of these, and are spared the look at each instance.
  if (select true from workflows as w where w.retention_ms is not null limit 1) then
    insert into ended (at, iid, workflow)
    select p_clock, i.iid, i.workflow
    from unnest(p_iids) as e (iid)
    join instances as i on i.iid = e.iid
    join workflows as w on w.workflow = i.workflow
    where w.retention_ms is not null
      and i.status > 1
    order by i.iid
    on conflict do nothing;
  end if;
end
$$;
