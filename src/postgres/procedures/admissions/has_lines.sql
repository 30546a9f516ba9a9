-- Whether any start waits for a limit, also one that is gone: most schemas have none, and then nothing else
-- is looked at.
create or replace function has_lines()
  returns boolean
  language plpgsql
  stable
  set enable_seqscan to off
  set enable_bitmapscan to off
  set enable_sort to off
as $$
begin
  return (
    select true
    from admissions as a
    where a.state = :ADMISSION.waiting
    order by a.workflow, a.limit_key, a.priority desc, a.since, a.iid
    limit 1
  ) is not null;
end
$$;
