-- Starts instances for a client, which owns nothing. Takes and returns what insert_starts() does;
-- p_effects and p_tasks are empty, or what apply_effects() and change_tasks() take.
create or replace function start_batch(
  p_starts text,
  p_effects text,
  p_tasks text default '',
  out starts text
)
  language plpgsql
  volatile
as $$
declare
  v_clock bigint := now_ms();
  v_born bigint[];
begin
  if p_starts = '' then
    starts := '';
    return;
  end if;
  perform require_fresh_snapshots();
  perform be_durable();
  select s.letters, s.born
  into starts, v_born
  from insert_starts(null, v_clock, p_starts) as s;
  if p_effects <> '' then
    perform apply_effects(v_clock, v_born, p_effects);
  end if;
  if p_tasks <> '' then
    perform change_tasks(v_born, p_tasks);
  end if;
end
$$;
