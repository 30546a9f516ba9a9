-- Which workflows a runtime has the code of, for those who tell it of work.
alter table runtimes add column workflows integer[] not null default '{}';
