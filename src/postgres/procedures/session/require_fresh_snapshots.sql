-- Rejects a transaction whose statements do not see what was committed while they waited for a lock:
-- they would decide by outdated rows.
--
-- Settings: its caller's.
create or replace function require_fresh_snapshots()
  returns void
  language plpgsql
  volatile
as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'transaction isolation is "%", must be "read committed"',
      current_setting('transaction_isolation')
      using errcode = 'HF001';
  end if;
end
$$;
