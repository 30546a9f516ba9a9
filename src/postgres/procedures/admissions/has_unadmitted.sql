-- Whether a limit has to be judged, now or at a time.
--
-- Settings: its caller's.
create or replace function has_unadmitted()
  returns boolean
  language plpgsql
  stable
as $$
begin
  return (select true from runs as r where r.wake_at is not null and :UNADMITTED limit 1) is not null;
end
$$;
