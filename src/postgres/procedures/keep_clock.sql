-- Has the store's clock go on when the server's was set back: otherwise all that waits for a moment
-- would wait for so much longer, and nobody who is dead would be found. Called with each renewal of a
-- lease, so that a step is noticed within seconds; about as much time is lost.
--
-- What the store's clock is ahead by, it makes up for: it goes a tenth more slowly until the two agree,
-- and does not follow the server's when that jumps forward. A step of more than an hour is not ridden
-- out: whoever waits for a date would be far too early for long.
--
-- Its settings are those of its caller: each that a function sets costs something at every call.
create or replace function keep_clock()
  returns void
  language plpgsql
  volatile
as $$
declare
  v_wall bigint := wall_ms();
  v_passed bigint := v_wall - coalesce(pg_sequence_last_value('clock_seen'::regclass), 0);
  v_ahead bigint;
begin
  -- Somebody else has just been here, or is here now: nobody waits for that.
  if v_passed between 0 and 1000 or not pg_try_advisory_xact_lock(lock_space(), -1) then
    return;
  end if;
  v_passed := v_wall - coalesce(pg_sequence_last_value('clock_seen'::regclass), 0);
  v_ahead := coalesce(pg_sequence_last_value('clock_ahead'::regclass), 0);
  perform setval('clock_seen', v_wall);
  perform setval(
    'clock_ahead',
    case
      when v_passed < -3600000 then v_ahead
      -- Less is what a clock is adjusted by all the time.
      when v_passed < -500 then v_ahead - v_passed
      -- A jump, or nobody was here: what it is ahead by is made up for at once.
      when v_passed > 60000 then greatest(v_ahead - v_passed, 0)
      else greatest(v_ahead - greatest(v_passed, 0) / 10, 0)
    end
  )
  where v_ahead > 0
    or v_passed < 0;
end
$$;
