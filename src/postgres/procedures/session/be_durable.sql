-- Makes this transaction wait for the disk, whatever the role or the session says. A setting on
-- the function itself would end before the commit does.
--
-- Settings: its caller's.
create or replace function be_durable()
  returns void
  language plpgsql
  volatile
as $$
begin
  if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;
