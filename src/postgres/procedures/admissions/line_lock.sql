-- The second key of the advisory lock of a line; the first is the table. Lines with the same hash share
-- a lock, which only makes them wait for each other.
--
--   - A claim that judges a line (admit_due()) has it exclusively. So what is counted stays true until the
--     transaction ends, and no limit is exceeded.
--   - A transaction that leaves one (leave_lines()) has it shared: a claim that still counts the place as taken
--     has committed before, and those that it made wait are visible and woken.
--
-- Starts take no lock: they only ask to be judged.
--
-- Settings: its caller's.
create or replace function line_lock(p_workflow integer, p_limit_key text)
  returns integer
  language sql
  immutable
as $$
  select hashtext(p_workflow || ' ' || p_limit_key)
$$;
