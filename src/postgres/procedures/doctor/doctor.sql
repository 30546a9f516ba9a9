-- Looks at what keeps this schema from doing well: one row for each thing that somebody should know
-- of or do something about, and one `ok` for each thing that was looked at and is in order. Reads
-- only, also on a standby; what the role may not see is said.
--
--   select * from doctor()                 -- what has been open for a minute counts as long
--   select * from doctor(600000)           -- ten minutes
--
-- Settings: any plan.
create or replace function doctor(p_long_ms bigint default 60000)
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
begin
  return query select * from doctor_settings();
  return query select * from doctor_connections();
  return query select * from doctor_vacuum(p_long_ms);
  return query select * from doctor_hints();
  return query select * from doctor_indexes();
  -- Only those who use the tables may read them; all others learn the rest.
  begin
    return query select * from doctor_tables();
    return query select * from doctor_migrations();
    return query select * from doctor_runtimes();
    return query select * from doctor_instances();
  exception when insufficient_privilege then
    return query
    select
      'note', 'privileges',
      format('%s may not read the tables of schema %s: %s', current_user, current_schema(), sqlerrm),
      format('grant select on all tables in schema %I to %I', current_schema(), current_user);
  end;
end
$$;
