-- Records why a runtime cannot fire a schedule at this due time. It stays due: another one may be able to.
create or replace function fail_schedule(
  p_name text,
  p_revision text,
  p_due bigint,
  p_error text
)
  returns void
  language plpgsql
  volatile
as $$
begin
  update schedules
  set error = p_error,
      error_at = now_ms()
  where name = p_name collate "C"
    and revision = p_revision collate "C"
    and next_at = p_due
    and wake_at is not null;
end
$$;
