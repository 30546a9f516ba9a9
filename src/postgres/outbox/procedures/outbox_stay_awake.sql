-- A process looks for messages of these topics by itself for a while, or no longer if p_ms is 0: see
-- outbox_notify(). Need not survive a
-- crash of the server.
--
-- Settings: any plan.
create or replace function outbox_stay_awake(p_topics integer[], p_ms bigint, out until bigint)
  language plpgsql
  volatile
as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  until := now_ms() + p_ms;
  update outbox_topics as t
  set awake_until = until
  from (
    select o.topic
    from outbox_topics as o
    where o.topic = any (p_topics)
      and (p_ms = 0 or o.awake_until < until)
    order by o.topic
    for no key update
  ) as g
  where t.topic = g.topic;
end
$$;
