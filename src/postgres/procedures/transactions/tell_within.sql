-- tell_work() in a transaction that the user commits. A commit with a NOTIFY fails when the server's
-- notification queue is full, which must not fail the user's transaction: no hint is sent while half of
-- the queue is in use. The next tick of a runtime finds the work.
--
-- Settings: any plan.
create or replace function tell_within(p_iids bigint[], p_due boolean)
  returns void
  language plpgsql
  volatile
as $$
begin
  if pg_notification_queue_usage() < :MAX_QUEUE_USAGE then
    perform tell_work(p_iids, p_due, 0, false);
  end if;
end
$$;
