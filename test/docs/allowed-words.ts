/** Where an old word may stay. */
export interface Exception {
  readonly path: RegExp
  /** All old words, if not given. */
  readonly word?: RegExp
  readonly why: string
}

export const ALLOWED: readonly Exception[] = [
  { path: /^test\/docs\/(?:old-words|allowed-words|words\.test)\.ts$/, why: 'names the old words' },
  { path: /^src\/(?:postgres|sqlite)\/migrations\//, why: 'a migration never changes' },
  { path: /^docs\/reference\/schema\.sql$/, why: 'what the migrations make, comments and all' },
  { path: /^docs\/adr\//, why: 'a decision is recorded in the words of its day' },
  {
    path: /^(?:src|test)\//,
    word: /^absent$/,
    why: "'absent' is a status of instances in SQLite files, and so in the port",
  },
]

/** Places that have old words and are to lose them: this list only shrinks. */
export const PENDING: readonly Exception[] = [
  {
    path: /^src\/(?!testing|index|engine\/runtime\/(?:activities|discover))/,
    why: 'being renamed, folder by folder',
  },
  { path: /^docs\//, why: 'being rewritten, page by page' },
  { path: /^test\/(?:hygiene|queue)\//, why: 'goes with src/postgres and src/queue' },
]
