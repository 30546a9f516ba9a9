-- When a schedule has to be looked at: p_clock or earlier for now, null for none.
--
-- Settings: its caller's.
create or replace function next_schedule_at(p_clock bigint)
  returns bigint
  language plpgsql
  stable
as $$
declare
  v_at bigint := (
    select s.wake_at
    from schedules as s
    where s.wake_at is not null
    order by s.wake_at
    limit 1
  );
begin
  if v_at > p_clock
    and exists (
      select
      from schedules as s
      where s.set_at > p_clock + :SCHEDULE_STEP_BACK_MS
        and s.wake_at is not null
    )
  then
    return p_clock;
  end if;
  return v_at;
end
$$;
