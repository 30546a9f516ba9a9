-- The first statement of a transaction in which the code of a user runs. Answers with the number of
-- the transaction, by which finish_transaction() knows it again; null when the code must not run.
--
-- Until the end of the transaction nobody else runs the code of this command: who comes second waits
-- here, and then sees what became of the first. The lock is in the other of the two spaces that
-- PostgreSQL has for such locks: no runtime, and so no commit, ever waits for it.
create or replace function begin_transaction(
  p_runtime integer,
  p_iid bigint,
  p_execution integer,
  p_command integer,
  -- Of the owner of the instance; null for the holder of a task, who has an attempt instead.
  p_epoch integer,
  p_attempt integer,
  -- How long the code may let the connection wait between two statements.
  p_idle_ms integer,
  -- As may_transact() takes them; null from versions that do not know of them.
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
  -- A new statement, and so a new snapshot: it sees what the lock waited for.
  if may_transact(
    p_runtime, p_iid, p_execution, p_command, p_epoch, p_attempt, p_turn, p_token
  ) then
    xid := pg_current_xact_id();
  end if;
end
$$;
