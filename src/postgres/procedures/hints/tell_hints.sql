-- Notifies other processes of what the caller has committed. Writes only to the notification queue, so
-- that no commit waits for the disk while it has the lock on that queue.
--
-- Returns whether there are other live runtimes.
--
-- Settings: any plan.
create or replace function tell_hints(
  -- 0 for a client.
  p_teller integer,
  p_has_room boolean,
  p_mail bigint[],
  p_due bigint[],
  p_activities text,
  p_counts integer[],
  p_pinned boolean[],
  -- Recipients of ready payloads: `all`, or a listener.
  p_tos text,
  p_payloads text,
  p_count integer,
  out others boolean
)
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
begin
  if cardinality(p_mail) > 0 then
    perform tell_work(p_mail, false, p_teller, p_has_room);
  end if;
  if cardinality(p_due) > 0 then
    perform tell_work(p_due, true, p_teller, p_has_room);
  end if;
  if cardinality(p_counts) > 0 then
    perform tell_tasks(
      split_texts(p_activities, cardinality(p_counts)), p_counts, p_pinned, p_teller
    );
  end if;
  perform pg_notify(hint_channel(told.recipient), told.payload)
  from unnest(split_texts(p_tos, p_count), split_texts(p_payloads, p_count))
    as told (recipient, payload);
  others := exists (
    select
    from runtimes as t
    where t.state = :RUNTIME.alive
      and t.runtime <> p_teller
      and t.lease_until > v_clock
      -- One that has neither delivers messages of an outbox, and has no use for hints.
      and (cardinality(t.workflows) > 0 or t.serves is not null)
  );
end
$$;
