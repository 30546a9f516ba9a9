-- A lease is renewed by a statement of its own, and no tick counts what a runtime owns.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists renew_lease;
-- Takes more.
drop function if exists bury_expired;
