-- Splits lists that were sent as one text, joined by \x02. Rarely used lists are packed like this,
-- because each parameter costs something even when it is empty.
--
-- Settings: its caller's.
create or replace function split_lists(p_lists text, p_count integer)
  returns text[]
  language plpgsql
  immutable
as $$
declare
  v_lists text[] := string_to_array(p_lists, e'\x02');
begin
  if cardinality(v_lists) <> p_count then
    raise exception 'expected % lists, got %: a text contains the control character U+0002',
      p_count, cardinality(v_lists)
      using errcode = '22023';
  end if;
  return v_lists;
end
$$;
