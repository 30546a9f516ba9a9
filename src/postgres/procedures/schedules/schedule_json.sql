-- A schedule as clients and runtimes read it: JSON.
--
-- Settings: its caller's.
create or replace function schedule_json(p_schedule schedules)
  returns json
  language plpgsql
  stable
as $$
begin
  return (
    select json_build_object(
      'name', p_schedule.name,
      'revision', p_schedule.revision,
      'workflow', p_schedule.workflow,
      'workflowName', json_build_object('name', w.name, 'version', w.version),
      'timing', p_schedule.timing,
      'template', p_schedule.template,
      'anchor', p_schedule.anchor,
      'nextAt', p_schedule.next_at,
      'wakeAt', p_schedule.wake_at,
      'setAt', p_schedule.set_at,
      'paused', p_schedule.paused,
      'createdAt', p_schedule.created_at,
      'updatedAt', p_schedule.updated_at,
      'lastAt', p_schedule.last_at,
      'lastId', p_schedule.last_id,
      'started', p_schedule.started,
      'skipped', p_schedule.skipped,
      'skippedAt', p_schedule.skipped_at,
      'missed', p_schedule.missed,
      'missedAt', p_schedule.missed_at,
      'error', p_schedule.error,
      'errorAt', p_schedule.error_at,
      'running', (
        select coalesce(
          json_agg(json_build_object('iid', i.iid, 'id', i.id) order by g.place), '[]'::json
        )
        from unnest(unfinished(p_schedule.running)) with ordinality as g (iid, place)
        cross join lateral (
          select i.iid, i.id
          from instances as i
          where i.iid = g.iid
          limit 1
        ) as i
      )
    )
    from workflows as w
    where w.workflow = p_schedule.workflow
  );
end
$$;
