-- The last statement of a transaction that ran user code: puts its result into the inbox.
-- Answers TRANSACTION_VERDICT: done, refused (roll it back), or ended (the transaction that
-- begin_transaction() began is over: the code has ended it).
--
-- Why this is exact, though it locks nothing that a commit would wait for:
--
--   - No two run the code of one command at once: begin_transaction() holds a lock to the end.
--   - Whoever took the instance or the task over before this statement is seen by it: refused.
--   - Whoever takes it over later has to wait for that lock to run the code, and then finds the result
--     in the inbox.
--   - A result that is in the inbox no longer was taken by the owner. One that owns the instance now
--     knows: it read the history when it claimed it, or took the result itself. So the code that it
--     hands over must look whether it is still wanted: by then nothing can come between.
create or replace function finish_transaction(
  p_xid text,
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  p_epoch integer,
  p_attempt integer,
  p_payload text,
  -- As may_transact() takes them; null from older versions.
  p_turn integer default null,
  p_token bigint default null,
  out verdict text
)
  language plpgsql
  volatile
as $$
declare
  v_session text;
begin
  if pg_current_xact_id()::text <> p_xid then
    verdict := :TRANSACTION_VERDICT.ended;
    return;
  end if;
  verdict := :TRANSACTION_VERDICT.refused;
  if not may_transact(
    p_runtime, p_iid, p_execution, p_command, p_epoch, p_attempt, p_turn, p_token
  ) then
    return;
  end if;
  perform be_durable();
  if p_attempt is not null then
    -- Only until the commit that follows; who drops tasks does not wait for it.
    delete from tasks
    where iid = p_iid
      and execution = p_execution
      and command = p_command
      and held_by is not distinct from p_runtime
      and attempts = p_attempt
    returning session into v_session;
    if not found then
      return;
    end if;
    if v_session is not null then
      perform touch_sessions(p_runtime, array[v_session], now_ms());
    end if;
  end if;
  insert into inbox (iid, kind, execution, command, payload)
  values (p_iid, :KIND.completed, p_execution, p_command, p_payload)
  on conflict do nothing;
  if found then
    verdict := :TRANSACTION_VERDICT.done;
  end if;
end
$$;
