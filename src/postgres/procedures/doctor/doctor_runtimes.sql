-- Which runtimes are alive, and whether they have one version: a part of doctor(). The info of a
-- runtime is its host, its process and its version.
--
-- Settings: any plan.
create or replace function doctor_runtimes()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
declare
  v_clock bigint := now_ms();
  v_alive bigint;
  v_versions bigint;
  v_named text;
begin
  select coalesce(sum(v.count), 0), count(*), string_agg(v.words, '; ' order by v.version)
  into v_alive, v_versions, v_named
  from (
    select
      count(*) as count,
      r.version,
      format(
        '%s: %s', coalesce(r.version, 'unknown'),
        string_agg(r.place, ', ' order by r.place) filter (where r.nth <= 5)
      ) as words
    from (
      select
        nullif(split_part(r.info, ' ', 3), '') as version,
        split_part(r.info, ' ', 1) || ' ' || split_part(r.info, ' ', 2) as place,
        row_number() over (partition by split_part(r.info, ' ', 3) order by r.info) as nth
      from runtimes as r
      where r.state = :RUNTIME.alive
        and r.lease_until > v_clock
    ) as r
    group by r.version
  ) as v;

  return query
  select
    case when v_alive = 0 or v_versions > 1 then 'note' else 'ok' end,
    'runtimes',
    case
      when v_alive = 0 then 'no runtime is alive: nothing runs'
      when v_versions > 1 then
        format('%s runtimes are alive, of %s versions: %s', v_alive, v_versions, v_named)
      else format('%s runtimes are alive, of version %s', v_alive, v_named)
    end,
    case
      when v_alive = 0 then 'start a process that opens this schema and registers workflows'
      when v_versions > 1 then 'finish the upgrade: bring the older processes to the newer version'
      else ''
    end;

  return query
  select
    'warning', 'runtimes',
    format(
      'the lease of runtime %s (%s) expired %s s ago, and no other runtime has taken over',
      r.runtime, r.info, (v_clock - r.lease_until) / 1000
    ),
    'start another runtime, whose first tick takes over, or find out why the live ones do not tick'
  from runtimes as r
  where r.state = :RUNTIME.alive
    and r.lease_until < v_clock - 30000
  order by r.lease_until
  limit 5;
end
$$;
