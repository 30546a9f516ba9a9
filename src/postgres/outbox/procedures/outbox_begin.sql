-- The first statement of a transaction of handlers: locks the partition, and returns whether the runtime
-- still owns it at this epoch and cursor.
--
-- The transaction keeps its runtime from being declared dead, and others from all of its partitions. So it
-- must not outlive its process: the server looks every second whether the connection is still there, where it
-- can, and a connection that is silent has a limit.
create or replace function outbox_begin(
  p_runtime integer,
  p_partition integer,
  p_epoch bigint,
  p_cursor bigint,
  -- How long the connection may be idle between two statements, and how long a statement may take.
  p_idle_limit_ms integer
)
  returns boolean
  language plpgsql
  volatile
as $$
declare
  v_limit interval := make_interval(secs => p_idle_limit_ms / 1000.0);
  v_own interval := current_setting('statement_timeout');
begin
  if not enter(p_runtime) then
    return false;
  end if;
  perform be_durable();
  perform set_config('idle_in_transaction_session_timeout', p_idle_limit_ms::text, true);
  -- A limit of the role that is lower stays.
  if v_own = interval '0' or v_own > v_limit then
    perform set_config('statement_timeout', p_idle_limit_ms::text, true);
  end if;
  -- Only systems that tell of a closed connection accept it.
  begin
    perform set_config('client_connection_check_interval', '1s', true);
  exception
    when invalid_parameter_value then null;
  end;
  perform
  from outbox_partitions as p
  where p.partition = p_partition
    and p.owner = p_runtime
    and p.epoch = p_epoch
    and p.cursor = p_cursor
  for no key update;
  return found;
end
$$;
