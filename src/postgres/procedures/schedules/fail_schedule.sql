-- Records why a schedule cannot be fired, and makes it due again later.
create or replace function fail_schedule(
  p_name text,
  p_revision text,
  p_error text,
  p_retry_ms bigint
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
begin
  update schedules
  set error = p_error,
      error_at = v_clock,
      wake_at = v_clock + p_retry_ms
  where name = p_name collate "C"
    and revision = p_revision collate "C"
    and wake_at is not null;
end
$$;
