-- The key of a label in the table of labels: short, whatever its name and its value. Two labels may
-- share one, so that searches compare the labels themselves, too.
--
-- Settings: any plan.
create or replace function label_key(p_name text, p_value text)
  returns bigint
  language plpgsql
  immutable
as $$
begin
  return (
    'x' || left(encode(sha256(convert_to(p_name || chr(31) || p_value, 'UTF8')), 'hex'), 16)
  )::bit(64)::bigint;
end
$$;
