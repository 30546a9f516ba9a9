-- Whether the server has connections left: a part of doctor().
--
-- Settings: any plan.
create or replace function doctor_connections()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_used bigint := (
    select count(*)
    from pg_stat_activity as a
    -- The type of other roles' sessions is hidden from roles without pg_read_all_stats.
    where coalesce(a.backend_type = 'client backend', a.usesysid is not null and a.datid is not null)
  );
  v_most bigint := current_setting('max_connections')::bigint
    - current_setting('superuser_reserved_connections')::bigint
    -- Since PostgreSQL 16.
    - coalesce(current_setting('reserved_connections', true), '0')::bigint;
begin
  return query
  select
    case
      when v_used >= v_most * 0.95 then 'error'
      when v_used >= v_most * 0.8 then 'warning'
      else 'ok'
    end,
    'connections',
    format('%s of %s connections of the server are in use', v_used, v_most),
    case
      when v_used < v_most * 0.8 then ''
      else 'raise max_connections, use smaller pools, or put a pooler such as PgBouncer in front of the '
        'server and set listenUrl'
    end;
end
$$;
