/** Where an old word may stay. */
export interface Exception {
  readonly path: RegExp
  /** All old words, if not given. */
  readonly word?: RegExp
  readonly why: string
}

export const ALLOWED: readonly Exception[] = [
  { path: /^test\/docs\/(?:old-words|allowed-words|words\.test)\.ts$/, why: 'names the old words' },
  {
    path: /^src\/(?:postgres|sqlite|sqlite\/queue)\/migrations\//,
    why: 'a migration never changes',
  },
  { path: /^docs\/reference\/schema\.sql$/, why: 'what the migrations make, comments and all' },
  {
    path: /^src\/cli\/commands\/running\/other-user\.ts$/,
    word: /^nobody$/,
    why: 'the name of a user that systems have',
  },
  { path: /^docs\/adr\//, why: 'a decision is recorded in the words of its day' },
  {
    path: /^src\/cli\/commands\/running\/other-user\.ts$/,
    word: /^nobody$/,
    why: 'the name of a user of the operating system',
  },
  {
    path: /^docs\/reference\/glossary\.md$/,
    word: /^(?:absences|absent|careful)$/,
    why: 'names of columns and tables that keep an old word',
  },
  {
    path: /^docs\/reference\/contract-coverage\.md$/,
    word: /^poker$/,
    why: 'the name of a part of the contract',
  },
  {
    path: /^src\/engine\/(?:client\/exported-history|context\/make-context|define\/channels)\.ts$/,
    word: /^cop(?:y|ies)$/i,
    why: 'copies of a value or of a module, not of an instance',
  },
  {
    path: /^src\/sqlite\//,
    word: /^absent$/,
    why: "'absent' is a status of instances in SQLite files, which older versions read, too",
  },
  {
    path: /^(?:src\/postgres\/procedures|test\/hygiene)\//,
    word: /^(?:absences|careful)$/,
    why: 'names of a table and of a column, which older processes use',
  },
  {
    path: /^(?:src\/postgres\/schema\/retired-procedures\.ts|test\/hygiene\/procedures-0\.1\.0\.sql)$/,
    why: 'names of procedures that earlier versions had',
  },
  {
    path: /^src\/postgres\/procedures\/hints\/tell_tasks\.sql$/,
    word: /^heard$/,
    why: 'an alias in a procedure, whose text changes only with its work',
  },
]
