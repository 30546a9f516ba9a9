-- Deals with due times of schedules, each by itself. Returns one letter for each, see FIRING: d started,
-- e the id is taken, s skipped, w waits for an instance, m missed, and without any effect: r refused,
-- a the id is unstarted under another number, n the number is taken, l the id is locked.
--
-- The row of the schedule is locked first: of several runtimes, one fires, and the others do not wait.
create or replace function fire_schedules(
  p_names text,
  p_revisions text,
  p_dues bigint[],
  p_missed bigint[],
  -- Null where everything was missed.
  p_ats bigint[],
  p_next_ats bigint[],
  p_set_ats bigint[],
  p_overlaps smallint[],
  p_passed bigint[],
  p_nexts_after_passed bigint[],
  -- One start each, as insert_starts() takes it, with its number and id.
  p_starts text[],
  p_iids bigint[],
  p_ids text,
  out letters text
)
  language plpgsql
  volatile
  set lock_timeout to '5ms'
as $$
declare
  v_clock bigint := now_ms();
  v_count integer := cardinality(p_dues);
  v_names text[] := split_texts(p_names, v_count);
  v_revisions text[] := split_texts(p_revisions, v_count);
  v_ids text[] := split_texts(p_ids, v_count);
  v_schedule schedules;
  v_running bigint[];
  v_next_at bigint;
  v_skipped bigint;
  v_letter text;
begin
  perform require_fresh_snapshots();
  perform be_durable();
  letters := '';
  for n in 1 .. v_count loop
    select *
    into v_schedule
    from schedules as s
    where s.name = v_names[n] collate "C"
      and s.revision = v_revisions[n] collate "C"
      and s.next_at = p_dues[n]
      and s.wake_at is not null
    for update skip locked;
    if not found then
      letters := letters || :FIRING.refused;
      continue;
    end if;

    v_running := unfinished(v_schedule.running);
    v_next_at := p_next_ats[n];
    v_skipped := 0;
    if p_ats[n] is null then
      v_letter := :FIRING.missed;
    elsif v_running <> '{}' and p_overlaps[n] = :OVERLAP.skip then
      v_letter := :FIRING.skipped;
      v_next_at := p_nexts_after_passed[n];
      v_skipped := p_passed[n];
    elsif v_running <> '{}' and p_overlaps[n] = :OVERLAP.queue then
      v_letter := :FIRING.waiting;
      v_next_at := p_ats[n];
    else
      begin
        v_letter := (
          select case s.letters
            when :VERDICT.done then :FIRING.started
            when :VERDICT.exists then :FIRING.exists
            when :VERDICT.unstarted then :FIRING.unstarted
            else :FIRING.renumber
          end
          from insert_starts(null, v_clock, p_starts[n]) as s
        );
      exception
        when lock_not_available then
          v_letter := :FIRING.locked;
      end;
      if v_letter = :FIRING.started then
        v_running := v_running || p_iids[n];
      elsif v_letter = :FIRING.exists then
        v_skipped := 1;
      end if;
    end if;
    letters := letters || v_letter;

    if v_letter in (:FIRING.unstarted, :FIRING.renumber) then
      continue;
    end if;
    if v_letter = :FIRING.locked then
      update schedules
      set wake_at = v_clock + :SCHEDULE_LOCKED_MS
      where name = v_schedule.name;
      continue;
    end if;
    update schedules as s
    set next_at = v_next_at,
        wake_at = case
          when v_letter = :FIRING.waiting then v_clock + :SCHEDULE_RECHECK_MS
          else v_next_at
        end,
        set_at = p_set_ats[n],
        running = v_running[greatest(1, cardinality(v_running) - :MAX_SCHEDULE_RUNNING + 1):],
        missed = s.missed + p_missed[n],
        missed_at = case when p_missed[n] > 0 then v_clock else s.missed_at end,
        skipped = s.skipped + v_skipped,
        skipped_at = case when v_skipped > 0 then v_clock else s.skipped_at end,
        started = s.started + case when v_letter = :FIRING.started then 1 else 0 end,
        last_at = case when v_letter = :FIRING.started then p_ats[n] else s.last_at end,
        last_id = case when v_letter = :FIRING.started then v_ids[n] else s.last_id end,
        error = case when v_letter = :FIRING.waiting then s.error end,
        error_at = case when v_letter = :FIRING.waiting then s.error_at end
    where s.name = v_schedule.name;
  end loop;
end
$$;
