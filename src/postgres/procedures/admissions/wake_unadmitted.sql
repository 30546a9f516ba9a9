-- Has the limits of these instances judged now, of those that were asked to end: they need no place.
--
-- Settings: its caller's.
create or replace function wake_unadmitted(p_iids bigint[])
  returns void
  language plpgsql
  volatile
as $$
begin
  if has_limits() then
    update runs as r
    set wake_at = now_ms()
    where r.iid = any (p_iids)
      and :UNADMITTED
      and not r.held
      and (
        select true
        from inbox as m
        where m.iid = r.iid
          and m.kind > :KIND.failed
          and m.kind in (:KIND.cancel, :KIND.terminate)
        limit 1
      );
  end if;
end
$$;
