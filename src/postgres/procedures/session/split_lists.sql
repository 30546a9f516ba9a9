-- Lists that came as one text, joined by \x02. What is seldom sent, or sent by few, is packed like
-- this: each parameter costs something also when it is empty.
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
    raise exception 'got % lists where % belong: a text holds the control character U+0002',
      cardinality(v_lists), p_count
      using errcode = '22023';
  end if;
  return v_lists;
end
$$;
