-- Whether all indexes exist and are valid: a part of doctor(). Without one of them everything still
-- works, and becomes slower with each row.
--
-- Settings: any plan.
create or replace function doctor_indexes()
  returns table (level text, what text, detail text, fix text)
  language plpgsql
  stable
as $$
begin
  return query
  select
    'error', 'indexes',
    case
      when i.indexrelid is null then format('the index %s is missing', e.name)
      else format('the index %s cannot be used: its build did not finish', e.name)
    end,
    case
      when i.indexrelid is null then
        'create it as in docs/reference/schema.sql, with: create index concurrently'
      else format('reindex index concurrently %I.%I', current_schema(), e.name)
    end
  from unnest(
    array[
      'absences_at', 'absences_pkey', 'admissions_admitted', 'admissions_line',
      'admissions_pkey', 'ended_pkey', 'history_pkey', 'inbox_early', 'inbox_mail',
      'inbox_pkey', 'inbox_results', 'inbox_waiting', 'instances_by_parent',
      'instances_by_workflow', 'instances_children', 'instances_id_key', 'instances_pkey',
      'labels_pkey', 'limits_pkey', 'limits_spent', 'posted_pkey', 'replies_at', 'replies_pkey',
      'runs_careful', 'runs_due', 'runs_held', 'runs_pkey', 'runs_prioritized',
      'runs_unadmitted', 'runtimes_alive', 'runtimes_pkey', 'schedules_due', 'schedules_pkey',
      'schedules_set', 'sessions_pkey', 'sessions_runtime', 'sessions_touched', 'state_pkey',
      'tasks_careful', 'tasks_delayed', 'tasks_held', 'tasks_limited', 'tasks_pkey',
      'tasks_ready', 'tasks_sessions', 'tasks_silent', 'unsuccessful_pkey',
      'unwanted_tasks_pkey', 'workflows_limited', 'workflows_name_version_key',
      'workflows_pkey', 'workflows_retained', 'workflows_unnoted'
    ]
  ) as e (name)
  left join pg_class as c
    on c.relname = e.name
    and c.relnamespace = (select n.oid from pg_namespace as n where n.nspname = current_schema())
  left join pg_index as i on i.indexrelid = c.oid
  where i.indexrelid is null
    or not i.indisvalid
    or not i.indisready
  order by e.name;
  if not found then
    return query select 'ok', 'indexes', 'all indexes exist and are valid', '';
  end if;
end
$$;
