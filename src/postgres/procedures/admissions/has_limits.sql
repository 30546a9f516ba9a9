-- Whether any workflow has a limit: most schemas have none, and then nothing else is looked at.
--
-- Settings: its caller's.
create or replace function has_limits()
  returns boolean
  language plpgsql
  stable
as $$
begin
  return (select true from workflows as w where w.keyed is not null limit 1) is not null;
end
$$;
