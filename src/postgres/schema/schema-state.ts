import { VERSION } from '../../base/version.ts'
import { compareVersions } from '../../base/versions.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Session } from '../connect/connections.ts'
import { MIGRATIONS, PROCEDURES } from './sql.generated.ts'
import { quoted } from '../connect/schema-name.ts'
import { RETIRED } from './retired-procedures.ts'
import type { SqlFile } from './sql-file.ts'

// How a schema compares with this version: behind, up to date, or ahead.

/** The files that a schema is created from; tests give their own. */
export interface SchemaFiles {
  readonly migrations: readonly SqlFile[]
  readonly procedures: readonly SqlFile[]
  /** Names of procedures that earlier versions had, and that are dropped. */
  readonly retired?: readonly string[]
  /** The version of the package that they are from. */
  readonly version: string
  /**
   * What the names of these files begin with in the schema, which may contain several families of
   * tables: none for workflows, `outbox/<prefix>/` for an outbox.
   */
  readonly family?: string
}

/** The files of the workflow store. */
export const FILES: SchemaFiles = {
  migrations: MIGRATIONS,
  procedures: PROCEDURES,
  retired: RETIRED,
  version: VERSION,
}

/** A file that was applied, as recorded in the schema. */
export interface AppliedFile {
  readonly name: string
  readonly checksum: string
  /** The version of the package that applied it; null from before that was recorded. */
  readonly version: string | null
  readonly works_with: string | null
}

/** How a schema compares with a version of the package. */
export type SchemaState =
  /** These files have to be applied, in this order; none when it is up to date. */
  | { readonly kind: 'behind'; readonly missing: readonly SqlFile[] }
  /** A newer version has upgraded it, and this version works with it as it is. */
  | { readonly kind: 'ahead'; readonly by: string }
  /** This version must neither change nor use it. */
  | { readonly kind: 'refused'; readonly error: StoreError }

/** The files of a family that were applied, without its name; none when the family is new. */
export async function readApplied(
  session: Session,
  schema: string,
  family = '',
): Promise<readonly AppliedFile[]> {
  const table = `${quoted(schema)}.holdfast_migrations`
  const { rows } = await session.query({
    text: 'select to_regclass($1) is not null as known',
    values: [table],
  })
  if (!(rows[0] as { known: boolean }).known) return []
  // Not by column: a schema that an earlier version created has fewer.
  const applied = await session.query({ text: `select * from ${table}` })
  const noted = applied.rows as (Pick<AppliedFile, 'name' | 'checksum'> & Partial<AppliedFile>)[]
  return noted
    .filter(({ name }) => isOfFamily(name, family))
    .map((row) => ({
      version: null,
      works_with: null,
      ...row,
      name: row.name.slice(family.length),
    }))
}

function isOfFamily(name: string, family: string): boolean {
  return family === '' ? !name.startsWith('outbox/') : name.startsWith(family)
}

/** Compares what was applied with what there is to apply. */
export function schemaState(
  applied: readonly AppliedFile[],
  schema: string,
  { migrations, procedures, version }: SchemaFiles,
): SchemaState {
  const checksums = new Map(applied.map(({ name, checksum }) => [name, checksum]))
  const edited = migrations.find(
    ({ name, checksum }) => checksums.has(name) && checksums.get(name) !== checksum,
  )
  if (edited !== undefined) return refused('misconfigured', editedWords(schema, edited))

  const unapplied = migrations.filter(({ name }) => !checksums.has(name))
  const unknown = unknownMigrations(applied, migrations)
  const latest = numberOf(migrations.at(-1)?.name ?? '')
  const tooNew = unknown.filter(({ works_with }) => works_with === null || works_with > latest)
  if (tooNew.length > 0 || (unknown.length > 0 && unapplied.length > 0)) {
    return refused(
      'newer_schema',
      newerWords(schema, version, tooNew.length > 0 ? tooNew : unknown),
    )
  }

  const newest = newestOf(applied)
  // An older version leaves the procedures alone: newer processes depend on theirs, which work for
  // older processes too.
  if (unknown.length > 0 || (newest !== undefined && compareVersions(newest, version) > 0)) {
    if (unapplied.length === 0) return { kind: 'ahead', by: newest ?? 'a newer version' }
  }
  return {
    kind: 'behind',
    missing: [
      ...unapplied,
      ...procedures.filter(({ name, checksum }) => checksums.get(name) !== checksum),
    ],
  }
}

/** Migrations that were applied and that this version does not have. */
function unknownMigrations(
  applied: readonly AppliedFile[],
  migrations: readonly SqlFile[],
): readonly AppliedFile[] {
  const known = new Set(migrations.map(({ name }) => name))
  return applied.filter(({ name }) => name.startsWith('migrations/') && !known.has(name))
}

function newestOf(applied: readonly AppliedFile[]): string | undefined {
  let newest: string | undefined
  for (const { version } of applied) {
    if (version !== null && (newest === undefined || compareVersions(version, newest) > 0))
      newest = version
  }
  return newest
}

/** `0004` of `migrations/0004_hints`. */
function numberOf(migration: string): string {
  return /^migrations\/(\d+)/.exec(migration)?.[1] ?? ''
}

function refused(code: 'newer_schema' | 'misconfigured', words: string): SchemaState {
  return { kind: 'refused', error: new StoreError(code, 'migrate', words) }
}

function editedWords(schema: string, { name }: SqlFile): string {
  return (
    `schema "${schema}" was created from a different version of ${name}; ` +
    'use another schema, or the version of Holdfast that created this one'
  )
}

function newerWords(schema: string, version: string, unknown: readonly AppliedFile[]): string {
  const by = unknown.find((migration) => migration.version !== null)?.version
  return (
    `schema "${schema}" was upgraded by a newer version of Holdfast` +
    `${by === undefined ? '' : ` (${by})`}, which version ${version} does not work with; ` +
    `unknown migrations: ${unknown.map(({ name }) => name).join(', ')}`
  )
}
