-- The store's clock goes on when the server's is set back. See keep_clock().
-- Works with 0006.

-- Sequences, because whoever reads the time must not wait for anybody, and see the latest at once. One
-- that was never set stands for 0.

-- What the server's clock showed when a lease was last renewed.
create sequence clock_seen as bigint minvalue 0 start 0 cache 1;

-- By how much the store's clock is ahead of the server's, in milliseconds.
create sequence clock_ahead as bigint minvalue 0 start 0 cache 1;
