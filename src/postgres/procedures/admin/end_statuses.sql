-- The numbers of those among some statuses, a list of words, that instances end with.
--
-- Settings: its caller's.
create or replace function end_statuses(p_statuses jsonb)
  returns smallint[]
  language plpgsql
  immutable
as $$
begin
  return array(
    select s.number
    from (
      values
        ('completed', :STATUS.completed::smallint),
        ('failed', :STATUS.failed::smallint),
        ('cancelled', :STATUS.cancelled::smallint),
        ('terminated', :STATUS.terminated::smallint)
    ) as s (word, number)
    where p_statuses ? s.word
  );
end
$$;
