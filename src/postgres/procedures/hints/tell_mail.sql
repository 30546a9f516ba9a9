-- Notifies of messages for instances by their ids, as tell_work() does. A client sends it right behind
-- post(), before that has answered: so it has no numbers of instances, and checks whether messages wait.
-- Sends nothing for messages that were refused, or that the owner has taken already.
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
    -- The usual case: the instance has an owner.
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
