-- Gives out p_count numbers in a row, from the one returned. Not undone by a rollback.
--
-- Settings: any plan.
create or replace function reserve(p_count bigint, out first bigint)
  language plpgsql
  volatile
as $$
begin
  -- Two steps that nobody may come between. No runtime has the number 0.
  perform pg_advisory_xact_lock(lock_space(), 0);
  first := nextval('instance_numbers');
  if p_count > 1 then
    perform setval('instance_numbers', first + p_count - 1);
  end if;
end
$$;
