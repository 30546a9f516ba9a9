-- Splits texts that were sent as one, joined by \x01: several times cheaper to send than an array. A
-- text that contains the separator would shift all that follow, so the count is checked.
--
-- Settings: its caller's.
create or replace function split_texts(p_texts text, p_count integer)
  returns text[]
  language plpgsql
  immutable
as $$
declare
  v_texts text[] := string_to_array(p_texts, e'\x01');
begin
  -- No text and one empty text look the same.
  if p_texts = '' and p_count = 1 then
    return array[''];
  end if;
  if cardinality(v_texts) <> p_count then
    raise exception 'expected % texts, got %: one contains the control character U+0001',
      p_count, cardinality(v_texts)
      using errcode = '22023';
  end if;
  return v_texts;
end
$$;
