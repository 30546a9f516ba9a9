-- What keeps vacuum from removing dead rows, and which idle sessions keep locks: a part of doctor().
-- Only for this database: sessions of others hold nothing back here.
--
-- Settings: any plan.
create or replace function doctor_vacuum(p_long_ms bigint)
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_before timestamptz := clock_timestamp() - p_long_ms * interval '1 millisecond';
  v_hidden bigint;
  v_found boolean;
begin
  return query
  select
    case when t.holds_back then 'warning' else 'note' end,
    case when t.holds_back then 'vacuum' else 'transactions' end,
    format(
      'session %s of %s (%s) %s for %s%s: %s',
      t.pid, t.usename, coalesce(nullif(t.application_name, ''), 'no name'),
      case
        when t.is_idle then 'is idle in a transaction that has been open'
        else 'has had a transaction open'
      end,
      date_trunc('second', clock_timestamp() - t.xact_start),
      case
        when t.holds_back then ', and no row that was deleted since can be removed'
        else ', and holds the locks it took'
      end,
      t.query
    ),
    format('select pg_terminate_backend(%s)', t.pid)
      || case
        when t.is_idle then
          format('; alter role %I set idle_in_transaction_session_timeout = ''5min''', t.usename)
        else ''
      end
  from (
    select
      a.pid, a.usename, a.application_name, a.xact_start,
      a.state like 'idle in transaction%' as is_idle,
      a.backend_xmin is not null or a.backend_xid is not null as holds_back,
      left(regexp_replace(a.query, '\s+', ' ', 'g'), 100) as query
    from pg_stat_activity as a
    where a.datname = current_database()
      and a.backend_type = 'client backend'
      and a.pid <> pg_backend_pid()
      and a.xact_start < v_before
  ) as t
  where t.holds_back
    or t.is_idle
  order by t.xact_start;
  v_found := found;

  -- A connected standby with hot_standby_feedback: its session keeps the rows it needs, or its slot.
  return query
  select
    'warning', 'vacuum',
    format(
      'a standby (%s) has queries that need rows from %s transactions ago, and '
      'hot_standby_feedback keeps them here',
      f.standby, f.age
    ),
    'end the long queries on the standby, or set max_standby_streaming_delay there'
  from (
    select
      format(
        '%s, session %s of %s', coalesce(nullif(a.application_name, ''), 'no name'), a.pid, a.usename
      ) as standby,
      age(a.backend_xmin) as age
    from pg_stat_activity as a
    where a.backend_type = 'walsender'
    union all
    select format('replication slot %s', s.slot_name), age(s.xmin)
    from pg_replication_slots as s
    where s.active
  ) as f
  where f.age > 100000;
  v_found := v_found or found;

  return query
  select
    'warning',
    case when s.xmin is null and s.catalog_xmin is null then 'disk' else 'vacuum' end,
    format('nothing reads the %s replication slot %s, which keeps %s', s.slot_type, s.slot_name,
      case
        when s.xmin is not null then 'rows from ' || age(s.xmin) || ' transactions ago, and WAL'
        when s.catalog_xmin is not null then
          'catalog rows from ' || age(s.catalog_xmin) || ' transactions ago, and WAL'
        else 'WAL'
      end
    ),
    format('connect its reader again, or: select pg_drop_replication_slot(%L)', s.slot_name)
  from pg_replication_slots as s
  where not s.active
    and (s.xmin is not null or s.catalog_xmin is not null or s.restart_lsn is not null)
  order by s.slot_name;
  v_found := v_found or found;

  return query
  select
    'warning', 'vacuum',
    format(
      'transaction %L of %s was prepared %s ago and neither committed nor rolled back',
      p.gid, p.owner, date_trunc('second', clock_timestamp() - p.prepared)
    ),
    format('commit prepared %L, or: rollback prepared %L', p.gid, p.gid)
  from pg_prepared_xacts as p
  where p.database = current_database()
    and p.prepared < v_before
  order by p.prepared;
  v_found := v_found or found;

  v_hidden := (
    select count(*)
    from pg_stat_activity as a
    where a.datname = current_database()
      and a.query = '<insufficient privilege>'
  );
  if v_hidden > 0 then
    return query
    select
      'note', 'privileges',
      format('%s cannot see what %s sessions of other roles do', current_user, v_hidden),
      format('grant pg_read_all_stats to %I', current_user);
  end if;
  if not v_found then
    return query
    select
      'ok', 'vacuum',
      case
        when v_hidden > 0 then 'nothing that this role can see holds vacuum back'
        else 'nothing holds vacuum back'
      end,
      '';
  end if;
end
$$;
