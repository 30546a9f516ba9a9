// Procedures of earlier versions that this one does without.
//
// Only procedures that nothing but other procedures called are listed here. A process of an earlier
// version that runs beside this one calls procedures by their names, and those stay (ADR 11). One that
// is in the middle of a call when the procedures are replaced repeats it: see `wire/call.ts`.

/** Their names. One that comes back is removed from here. */
export const RETIRED: readonly string[] = [
  'are_held',
  'bury_expired',
  'early_is_full',
  'helped_activities',
  'hold_tasks',
  'is_careful',
  'keep_absent',
  'may_be_careful',
  'remove_absent',
  'truths',
]

/** SQL that drops them, if an earlier version of Holdfast recorded that it created them. */
export function retireSql(names: readonly string[]): string {
  const files = names.map((name) => `'procedures/${name}'`)
  return `do $retire$
declare
  v_file text;
  v_procedure regprocedure;
begin
  for v_file in
    delete from holdfast_migrations
    where name = any (array[${files.join(', ')}]::text[])
    returning name
  loop
    for v_procedure in
      select p.oid
      from pg_proc as p
      where p.pronamespace = quote_ident(current_schema())::regnamespace
        and p.proname = split_part(v_file, '/', 2)
    loop
      execute format('drop function %s', v_procedure);
    end loop;
  end loop;
end
$retire$;`
}
