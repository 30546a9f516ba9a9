-- Notifies processes that deliver messages, when this transaction is committed. No notification is needed
--
--   - for a partition that has an owner: the owner looks for more before it gives the partition back, and
--     sees the lock of this transaction then (outbox_enter());
--   - while a process stays awake for the topic: it looks again after that time, and sees the lock, too.
--
-- Both save commits that wait for each other: PostgreSQL commits transactions with a NOTIFY one by one. A
-- snapshot that is not fresh may show an owner that is gone.
--
-- A commit with a NOTIFY fails when the server's notification queue is full, which must not fail the
-- transaction of a user: none is sent while half of the queue is in use.
--
-- Settings: its caller's.
create or replace function outbox_notify(p_partitions integer[], p_at bigint, p_clock bigint)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_is_fresh boolean :=
    current_setting('transaction_isolation') in ('read committed', 'read uncommitted');
  v_partitions text;
begin
  select string_agg(distinct g.partition::text, ',')
  into v_partitions
  from unnest(p_partitions) as g (partition)
  -- An old snapshot may lack a new topic.
  left join outbox_partitions as p on p.partition = g.partition
  left join outbox_topics as t on t.topic = p.topic
  where p_at > 0
    or not v_is_fresh
    or (p.owner is null and t.awake_until <= p_clock);
  if v_partitions is null or pg_notification_queue_usage() >= :MAX_QUEUE_USAGE then
    return;
  end if;
  perform pg_notify(
    hint_channel('o' || left(md5('outbox_partitions'), 16)),
    -- The server takes less than 8000 bytes. None means: look everywhere.
    format(
      '{"kind":"messages","partitions":[%s],"at":%s}',
      case when length(v_partitions) > 7000 then '' else v_partitions end,
      p_at
    )
  );
end
$$;
