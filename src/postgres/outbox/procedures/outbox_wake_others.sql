-- Notifies other processes of messages that the caller has no room for.
--
-- Settings: any plan.
create or replace function outbox_wake_others(p_partitions integer[])
  returns void
  language plpgsql
  volatile
as $$
begin
  if pg_notification_queue_usage() < :MAX_QUEUE_USAGE then
    perform pg_notify(
      hint_channel('o' || left(md5('outbox_partitions'), 16)),
      format('{"kind":"messages","partitions":[%s],"at":0}', array_to_string(p_partitions, ','))
    );
  end if;
end
$$;
