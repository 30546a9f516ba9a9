-- Which version a start runs that named none is decided when it is first claimed.
-- Works with 0004.

-- Answers more from now on. Those who do not know of it leave it out.
drop function if exists claim;
