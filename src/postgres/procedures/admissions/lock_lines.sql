-- Locks lines until the end of the transaction, in one order, so that two transactions cannot deadlock.
-- Waits: those who have such a lock wait for nothing else.
--
-- Settings: its caller's.
create or replace function lock_lines(
  p_workflows integer[],
  p_limit_keys text[],
  p_exclusive boolean
)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_space integer := ('admissions'::regclass::oid::bigint - 2147483648)::integer;
  v_lock integer;
begin
  for v_lock in
    select distinct line_lock(l.workflow, l.limit_key)
    from unnest(p_workflows, p_limit_keys) as l (workflow, limit_key)
    order by 1
  loop
    if p_exclusive then
      perform pg_advisory_xact_lock(v_space, v_lock);
    else
      perform pg_advisory_xact_lock_shared(v_space, v_lock);
    end if;
  end loop;
end
$$;
