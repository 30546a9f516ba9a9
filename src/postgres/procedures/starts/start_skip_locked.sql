-- Starts instances one by one, and skips those whose id another transaction has locked: the answer for
-- each of these is l. The other letters are those of insert_starts(). Called after start_nowait() or
-- commit_batch() failed because of such an id.
--
-- After 20 ms the answer for the rest is n, not tried, so that the caller does not wait long; it sends
-- these again. The first is always tried.
create or replace function start_skip_locked(
  -- Null for a client. A runtime may own the instances, and must own their parents.
  p_runtime integer,
  -- The server as last verified; null if nothing is owned, so that it does not matter.
  p_server text,
  -- One entry for each instance: as insert_starts(), apply_effects() and change_tasks() take them.
  p_starts text[],
  p_effects text[],
  p_tasks text[],
  out state text,
  out clock bigint,
  out server text,
  out starts text
)
  language plpgsql
  volatile
  set lock_timeout to '1ms'
as $$
declare
  v_until timestamptz;
  v_letter text;
  v_born bigint[];
begin
  perform require_fresh_snapshots();
  clock := now_ms();
  server := server_identity();
  starts := '';
  if p_runtime is not null then
    -- The lock of the runtime itself may take longer than the locks that are skipped here.
    perform set_config('lock_timeout', '1s', true);
    if not enter(p_runtime) then
      state := 'dead';
      return;
    end if;
    perform set_config('lock_timeout', '1ms', true);
  end if;
  if server <> p_server then
    state := 'verify';
    return;
  end if;
  perform be_durable();
  state := 'ok';

  v_until := clock_timestamp() + interval '20 ms';
  for n in 1 .. cardinality(p_starts) loop
    v_letter := :VERDICT.untried;
    if n = 1 or clock_timestamp() < v_until then
      begin
        select s.letters, s.born
        into v_letter, v_born
        from insert_starts(p_runtime, clock, p_starts[n]) as s;
        if p_effects[n] <> '' then
          perform apply_effects(clock, v_born, p_effects[n]);
        end if;
        if p_tasks[n] <> '' then
          perform change_tasks(v_born, p_tasks[n]);
        end if;
      exception
        when lock_not_available then
          v_letter := :VERDICT.locked;
      end;
    end if;
    starts := starts || v_letter;
  end loop;
end
$$;
