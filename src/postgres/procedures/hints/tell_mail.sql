-- Tells of the mail of instances by the caller's ids, as tell_work() does. A client sends it right
-- behind post(), before that has answered: so it names nobody by number, and looks for itself whether
-- something waits. What was refused, or is in the owner's hands already, is not told.
create or replace function tell_mail(p_ids text, p_count integer)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_iid bigint;
  v_owner integer;
  v_iids bigint[];
begin
  if p_count = 1 then
    -- The usual case: somebody has it.
    select r.iid, r.owner
    into v_iid, v_owner
    from instances as i
    join runs as r on r.iid = i.iid
    where i.id = p_ids collate "C"
      and r.owner is not null
      and not r.held
      and (
        select true
        from inbox as m
        where m.iid = i.iid
          and (not m.parked or m.early)
        limit 1
      );
    if found then
      perform pg_notify(
        hint_channel('r' || v_owner), format('{"kind":"work","iids":[%s],"at":0}', v_iid)
      );
      return;
    end if;
  end if;
  v_iids := array(
    select distinct i.iid
    from unnest(split_texts(p_ids, p_count)) as g (id)
    join instances as i on i.id = g.id collate "C"
    where (
      select true
      from inbox as m
      where m.iid = i.iid
        and (not m.parked or m.early)
      limit 1
    )
  );
  if cardinality(v_iids) > 0 then
    perform tell_work(v_iids, false, 0, false);
  end if;
end
$$;
