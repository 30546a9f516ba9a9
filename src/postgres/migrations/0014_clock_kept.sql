-- What the store's clock goes by is one number, so that nobody sees half of a change.
-- Works with 0006.

-- What the server's clock showed when it was last noted, times a million, and by how much the store's
-- clock was ahead of it then, in hundredths of a second. See clock_after(). It takes the place of
-- clock_seen and clock_ahead, which earlier builds still need.
create sequence clock_kept as bigint minvalue 0 start 0 cache 1;
