-- Checks the health of this schema and its server: one row for each problem, and one `ok` for each
-- check that found none. Only reads, and works on a standby; says so where the role cannot see enough.
--
--   select * from doctor()                 -- reports transactions that are open for a minute
--   select * from doctor(600000)           -- for ten minutes
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
  -- A role that cannot read the tables still gets the other checks.
  begin
    return query select * from doctor_tables();
    return query select * from doctor_migrations();
    return query select * from doctor_runtimes();
    return query select * from doctor_instances();
  exception when insufficient_privilege then
    return query
    select
      'note', 'privileges',
      format('%s is not allowed to read the tables of schema %s: %s', current_user, current_schema(), sqlerrm),
      format('grant select on all tables in schema %I to %I', current_schema(), current_user);
  end;
end
$$;
