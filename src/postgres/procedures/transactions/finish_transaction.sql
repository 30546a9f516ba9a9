-- The last statement of a transaction that ran user code: puts its result into the inbox. Returns
-- TRANSACTION_VERDICT: done, refused (roll it back), or ended (the code ended the transaction that
-- begin_transaction() began).
--
-- Why the result is recorded exactly once, though this locks nothing that a commit would wait for:
--
--   - The code of one command never runs twice at once: begin_transaction() keeps a lock to the
--     end.
--   - A takeover of the instance or the task before this statement is visible to it: refused.
--   - After a later takeover, the code has to wait for that lock, and then finds the result in the
--     inbox.
--   - A result that is no longer in the inbox was taken by the owner. The present owner has it: it
--     read the history when it claimed the instance, or took the result itself. So it checks
--     whether the command is still open when the code begins, and nothing can come in between.
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
    -- Locked only until the commit that follows; drop_tasks() does not wait for it.
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
