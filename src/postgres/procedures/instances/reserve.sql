-- Reserves p_count consecutive numbers, from the one returned. A rollback does not undo it.
--
-- Settings: any plan.
create or replace function reserve(p_count bigint, out first bigint)
  language plpgsql
  volatile
as $$
begin
  -- Two steps that must not interleave. No runtime has the number 0.
  perform pg_advisory_xact_lock(lock_space(), 0);
  first := nextval('instance_numbers');
  if p_count > 1 then
    perform setval('instance_numbers', first + p_count - 1);
  end if;
end
$$;
