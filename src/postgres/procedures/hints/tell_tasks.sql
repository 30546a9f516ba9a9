-- Notifies of new tasks: as many live runtimes as there are tasks of an activity, idle ones first.
-- If a tag or a session decides which can run them, notifies all. Never notifies the sender itself.
--
-- Settings: any plan.
create or replace function tell_tasks(
  p_activities text[],
  p_counts integer[],
  p_pinned boolean[],
  p_teller integer
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  perform pg_notify(
    hint_channel(told.recipient),
    case
      -- The server takes less than 8000 bytes. None means: any.
      when octet_length(told.activities) > 7000 then '{"kind":"tasks","activities":[]}'
      else format('{"kind":"tasks","activities":%s}', told.activities)
    end
  )
  from (
    select heard.recipient, json_agg(distinct heard.activity)::text as activities
    from (
      select a.activity, 'all' as recipient
      from unnest(p_activities, p_pinned) as a (activity, pinned)
      where a.pinned
      union all
      select a.activity, 'r' || able.runtime
      from unnest(p_activities, p_counts, p_pinned) as a (activity, count, pinned)
      cross join lateral (
        select t.runtime
        from runtimes as t
        where t.state = :RUNTIME.alive
          and t.lease_until > v_clock
          and t.runtime <> p_teller
          and a.activity = any (t.activities)
        order by t.idle desc, random()
        limit a.count
      ) as able
      where not a.pinned
    ) as heard
    group by heard.recipient
  ) as told;
end
$$;
