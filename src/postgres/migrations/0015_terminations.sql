-- A termination tells who has mail because of it.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists terminate;
