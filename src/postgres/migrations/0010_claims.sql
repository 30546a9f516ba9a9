-- A claim tells when the next instance falls due.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists claim;
