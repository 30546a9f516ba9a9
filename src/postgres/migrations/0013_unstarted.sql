-- Messages for instances that were never started cost no claim and no tick.
-- Works with 0004.

-- Sent to an instance that was never started, and parked until it is. What came before there was this
-- column is parked by a tick: see park_mail().
alter table inbox add column early boolean not null default false;

-- About one in a thousand of them, for early_is_full().
create index inbox_early on inbox (iid) where early and id % 1021 = 0;
