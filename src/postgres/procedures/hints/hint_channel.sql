-- The name of a channel for LISTEN and NOTIFY. Channels belong to a database, so the schema is part
-- of it: as a hash, since a name has 63 bytes and a schema may take all of them.
--
-- Settings: any plan.
create or replace function hint_channel(p_to text)
  returns text
  language plpgsql
  stable
as $$
begin
  return 'holdfast_'
    || left(encode(sha256(convert_to(current_schema(), 'UTF8')), 'hex'), 16)
    || '_'
    || p_to;
end
$$;
