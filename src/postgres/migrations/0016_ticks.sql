-- A tick says whether another one should follow soon.
-- Works with 0004.

-- Answer more from now on. Those who do not know of it leave it out.
drop function if exists tick;
drop function if exists park_mail;
