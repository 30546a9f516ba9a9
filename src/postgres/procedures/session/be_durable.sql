-- Makes the commit of this transaction wait for the disk, whatever the settings of the role and the
-- session. A setting on the function would be reset before the commit.
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
