-- The first statement of a transaction that runs user code. Returns the id of the transaction, by which
-- finish_transaction() recognises it; null if the code must not run.
--
-- Until the end of the transaction nothing else runs the code of this command: a second one waits here,
-- and then sees the result of the first. The advisory lock has a single 64-bit key, unlike the locks of
-- runtimes, so no commit ever waits for it.
create or replace function begin_transaction(
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  -- The epoch of the instance; null for the owner of a task, which has an attempt instead.
  p_epoch integer,
  p_attempt integer,
  -- How long the connection may be idle between two statements.
  p_idle_ms integer,
  -- As may_transact() takes them; null from older versions.
  p_turn integer default null,
  p_token bigint default null,
  out xid text
)
  language plpgsql
  volatile
as $$
declare
  v_key text := format('%s/%s/%s/%s', lock_space(), p_iid, p_execution, p_command);
begin
  perform require_fresh_snapshots();
  perform pg_advisory_xact_lock(hashtextextended(v_key, 0));
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  -- A new statement has a new snapshot: it sees what was committed while the lock was waited for.
  if may_transact(
    p_runtime, p_iid, p_execution, p_command, p_epoch, p_attempt, p_turn, p_token
  ) then
    xid := pg_current_xact_id();
  end if;
end
$$;
