-- Whether deleted rows are removed: a part of doctor(). A table has too many when there are twice as
-- many as the threshold of autovacuum.
--
-- Settings: any plan.
create or replace function doctor_tables()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_found boolean;
begin
  return query
  select
    'warning', 'autovacuum',
    format('autovacuum is off for the table %s', c.relname),
    format('alter table %I.%I reset (autovacuum_enabled)', current_schema(), c.relname)
  from pg_class as c
  where c.relnamespace = (select n.oid from pg_namespace as n where n.nspname = current_schema())
    and c.relkind = 'r'
    and (
      select o.option_value
      from pg_options_to_table(c.reloptions) as o
      where o.option_name = 'autovacuum_enabled'
    ) in ('off', 'false', 'no', '0')
  order by c.relname;
  v_found := found;

  return query
  select
    'warning', 'bloat',
    format(
      'the table %s (%s) has %s dead rows and %s live ones; the threshold of autovacuum is %s, and it '
      'last ran %s',
      t.relname, pg_size_pretty(pg_total_relation_size(t.relid)), t.n_dead_tup, t.n_live_tup,
      t.due_at,
      coalesce(date_trunc('second', clock_timestamp() - t.last_autovacuum) || ' ago', 'never')
    ),
    format(
      'end what holds vacuum back, if anything does; then: vacuum %I.%I; to run autovacuum sooner: '
      'alter table %I.%I set (autovacuum_vacuum_scale_factor = 0.05)',
      current_schema(), t.relname, current_schema(), t.relname
    )
  from (
    select
      s.relid, s.relname, s.n_dead_tup, s.n_live_tup, s.last_autovacuum,
      (
        coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold'))::float8
        + coalesce(o.scale, current_setting('autovacuum_vacuum_scale_factor'))::float8
          * greatest(c.reltuples, 0)
      )::bigint as due_at
    from pg_stat_user_tables as s
    join pg_class as c on c.oid = s.relid
    cross join lateral (
      select
        max(o.option_value) filter (where o.option_name = 'autovacuum_vacuum_threshold'),
        max(o.option_value) filter (where o.option_name = 'autovacuum_vacuum_scale_factor')
      from pg_options_to_table(c.reloptions) as o
    ) as o (threshold, scale)
    where s.schemaname = current_schema()
  ) as t
  where t.n_dead_tup > 10000
    and t.n_dead_tup > 2 * t.due_at
  order by t.n_dead_tup desc;
  v_found := v_found or found;

  if not v_found then
    return query
    select
      'ok', 'bloat',
      format(
        '%s in all tables; the largest is %s; %s dead rows and %s live ones',
        pg_size_pretty(sum(pg_total_relation_size(s.relid))),
        (array_agg(s.relname order by pg_total_relation_size(s.relid) desc))[1],
        sum(s.n_dead_tup), sum(s.n_live_tup)
      ),
      ''
    from pg_stat_user_tables as s
    where s.schemaname = current_schema();
  end if;
end
$$;
