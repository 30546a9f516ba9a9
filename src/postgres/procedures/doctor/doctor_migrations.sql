-- Which version created the schema: a part of doctor().
--
-- Settings: any plan.
create or replace function doctor_migrations()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
begin
  return query
  select
    'ok', 'migrations',
    format(
      'the last migration is %s; procedures were written by version %s',
      max(m.name) filter (where m.name like 'migrations/%'),
      string_agg(distinct m.version, ', ') filter (where m.name like 'procedures/%')
    ),
    ''
  from holdfast_migrations as m;
end
$$;
