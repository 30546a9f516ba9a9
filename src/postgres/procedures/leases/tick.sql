-- Marks runtimes whose lease expired as dead, and finds what a lost hint would have announced. Its cost
-- does not depend on how many instances wait: it counts and scans nothing.
--
-- Settings: any plan.
create or replace function tick(
  p_runtime integer,
  -- Null from runtimes that renew their lease with renew_lease(). Older versions renew it here, and
  -- get the number of instances that they own.
  p_lease_ms bigint,
  p_workflows integer[],
  -- The tasks that it serves, as ready_lanes() takes it; no activities when it runs no tasks.
  p_activities text,
  p_activity_count integer,
  p_tags text,
  p_tag_count integer,
  p_any_tag boolean,
  -- The attempts that it is running.
  p_held_iids bigint[],
  p_held_executions integer[],
  p_held_commands integer[],
  p_held_attempts integer[],
  p_idle boolean,
  -- Activities that it has no code for, as far as it could find out.
  p_unknown text,
  p_unknown_count integer,
  out state text,
  out clock bigint,
  out server text,
  out mail bigint[],
  out owned bigint,
  out claimable boolean,
  out next_due bigint,
  out next_task bigint,
  out wanted text,
  -- Joined by \x01.
  out helped text,
  out stranded bigint[],
  -- How many messages were removed without having been received.
  out late_messages bigint,
  out early_messages bigint,
  -- Whether the next one should come soon: there is more of what a tick does, or hints are left out.
  out soon boolean,
  -- When a schedule has to be looked at; null for none.
  out next_schedule bigint
)
  language plpgsql
  volatile
  set plan_cache_mode to force_generic_plan
as $$
#variable_conflict use_column
declare
  v_clock bigint := now_ms();
  v_activities text[] := split_texts(p_activities, p_activity_count);
  v_tags text[] := split_texts(p_tags, p_tag_count);
  -- Activities that it can run for other runtimes.
  v_offered text[];
begin
  perform require_fresh_snapshots();
  clock := v_clock;
  server := server_identity();

  if p_lease_ms is null then
    perform from runtimes as r where r.runtime = p_runtime and r.state = :RUNTIME.alive;
  else
    update runtimes
    set lease_until = v_clock + p_lease_ms
    where runtime = p_runtime
      and state = :RUNTIME.alive;
  end if;
  if not found then
    state := 'dead';
    return;
  end if;
  state := 'ok';
  perform reclaim_dead(v_clock, p_runtime);
  perform free_forgotten_tasks();
  perform sweep(v_clock);
  perform unpark_started();
  late_messages := remove_undelivered();
  early_messages := remove_unstarted(v_clock);
  -- From half of the queue on, hints are left out: see tell_within().
  soon := park_mail(v_clock) or pg_notification_queue_usage() >= :MAX_QUEUE_USAGE;

  if has_lines() then
    perform check_lines(p_workflows, v_clock);
  end if;

  mail := own_mail(p_runtime);
  claimable := is_claimable(p_runtime, p_workflows, v_clock);
  next_due := next_wake(p_workflows, v_clock);
  if p_lease_ms is not null then
    owned := (select count(*) from runs as r where r.owner = p_runtime);
  end if;
  next_schedule := next_schedule_at(v_clock);

  wanted := owned_task_flags(
    p_runtime, p_held_iids, p_held_executions, p_held_commands, p_held_attempts
  );
  -- A runtime that serves no tag, not even none, runs no tasks.
  if p_tag_count > 0 or p_any_tag then
    stranded := stranded(p_workflows, v_activities || split_texts(p_unknown, p_unknown_count));
  end if;
  if p_activity_count > 0 then
    next_task := case
      when (select true from ready_lanes(v_activities, v_tags, p_any_tag, 0, 1)) then v_clock
      else next_task_at(v_activities, v_tags, p_any_tag)
    end;
    -- Those that another live runtime, which has nothing to do, could run as well.
    helped := array_to_string(
      array(
        select distinct a.activity
        from runtimes as r
        cross join unnest(r.activities) as a (activity)
        where r.state = :RUNTIME.alive
          and r.lease_until > v_clock
          and r.idle
          and r.runtime <> p_runtime
          and a.activity = any (v_activities)
      ),
      e'\x01'
    );
  end if;

  -- Last, because renewing the lease waits for this row; and only if something changed.
  v_offered := case when '' = any (v_tags) then v_activities else '{}' end;
  update runtimes
  set idle = p_idle,
      activities = v_offered
  where runtime = p_runtime
    and state = :RUNTIME.alive
    and (idle <> p_idle or activities <> v_offered);
end
$$;
