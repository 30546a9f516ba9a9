-- Whether the server keeps acknowledged writes and can be written to: a part of doctor().
--
-- Settings: any plan.
create or replace function doctor_settings()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_faults integer;
begin
  return query
  select
    'error', 'settings',
    format('%s is "%s": %s', s.name, s.setting, r.why),
    r.fix
  from (
    values
      (
        'fsync', array['on'],
        'acknowledged work is lost in a power failure',
        'set fsync = on in postgresql.conf and reload'
      ),
      (
        'full_page_writes', array['on'],
        'a crash of the machine can damage tables',
        'set full_page_writes = on in postgresql.conf and reload'
      ),
      (
        'synchronous_commit', array['on', 'remote_apply'],
        'acknowledged work can be lost in a crash',
        format('alter role %I set synchronous_commit = on', current_user)
      ),
      (
        'default_transaction_isolation', array['read committed', 'read uncommitted'],
        'a stale owner could pass for the current one',
        format('alter role %I set default_transaction_isolation = "read committed"', current_user)
      ),
      (
        'server_encoding', array['UTF8'],
        'some characters cannot be stored',
        'use a database made with encoding ''UTF8'''
      ),
      (
        'autovacuum', array['on'],
        'nothing removes deleted rows',
        'set autovacuum = on in postgresql.conf and reload'
      ),
      (
        'track_counts', array['on'],
        'autovacuum does not know which tables have deleted rows',
        'set track_counts = on in postgresql.conf and reload'
      )
  ) as r (name, allowed, why, fix)
  join pg_settings as s on s.name = r.name
  where s.setting <> all (r.allowed);
  get diagnostics v_faults = row_count;

  if pg_is_in_recovery() then
    return query
    select
      'note', 'settings', 'this server is a standby: nothing can be written here',
      'give runtimes and clients the address of the primary';
  elsif current_setting('default_transaction_read_only') = 'on' then
    return query
    select
      'error', 'settings', 'default_transaction_read_only is "on": nothing can be written here',
      format('alter role %I reset default_transaction_read_only', current_user);
  elsif v_faults = 0 then
    return query
    select
      'ok', 'settings',
      format('PostgreSQL %s, durable and writable', current_setting('server_version')), '';
  end if;
end
$$;
