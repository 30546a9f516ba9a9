-- tell_work() in a transaction that the user commits. A commit with a NOTIFY fails when the server's
-- queue of notifications is full, and only the hint may be lost of that: none is sent while half of
-- the queue is in use. What is told nobody is found by the next tick of a runtime.
--
-- Settings: any plan.
create or replace function tell_within(p_iids bigint[], p_due boolean)
  returns void
  language plpgsql
  volatile
as $$
begin
  if pg_notification_queue_usage() < 0.5 then
    perform tell_work(p_iids, p_due, 0, false);
  end if;
end
$$;
