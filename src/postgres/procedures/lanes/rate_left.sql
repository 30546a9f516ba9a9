-- How many may start now under a rate, of tasks or of instances. If none, opens_at is when the next may
-- start.
--
-- The rate is one time per limit, until which it is used up (the generic cell rate algorithm): each
-- start adds its share, and one may start as long as that time stays within p_rate_ms from now. So
-- p_rate_count may start at once, and then one per share.
--
-- Settings: its caller's.
create or replace function rate_left(
  p_limit_key text,
  p_rate_count integer,
  p_rate_ms bigint,
  p_clock bigint,
  out most bigint,
  out opens_at bigint
)
  language plpgsql
  stable
as $$
declare
  v_share bigint := limit_share(p_rate_count, p_rate_ms);
  v_spent_until bigint := rate_spent_until(
    (select l.spent_until from limits as l where l.limit_key = p_limit_key collate "C"),
    p_rate_count, p_rate_ms, p_clock
  );
begin
  -- Negative if a transaction with a later clock was here.
  most := greatest(
    (p_clock * :MICROS_PER_MS + p_rate_ms * :MICROS_PER_MS - v_spent_until) / v_share, 0
  );
  if most < 1 then
    opens_at := (v_spent_until + v_share - p_rate_ms * :MICROS_PER_MS + :MICROS_PER_MS - 1) / :MICROS_PER_MS;
  end if;
end
$$;
