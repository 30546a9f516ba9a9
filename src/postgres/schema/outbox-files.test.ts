import { expect, test } from 'vitest'
import { outboxFiles, withPrefix } from './outbox-files.ts'

const NAMES = /\b\w*?(?:topics|partitions|positions|messages|delayed|keys|waiting|dead_letters)\b/g

const tables = (prefix: string): string[] => {
  const [first] = outboxFiles(prefix).migrations
  return [...first!.sql.matchAll(/create (?:table|sequence) (\w+)/g)].map(([, name]) => name!)
}

test('the names of the default are those in the files [default_tables_match_existing_names]', () => {
  expect(tables('outbox')).toEqual(
    [
      'topics',
      'partitions',
      'positions',
      'messages',
      'delayed',
      'keys',
      'waiting',
      'dead_letters',
    ].map((name) => `outbox_${name}`),
  )
})

test('each name begins with the prefix [custom_tables_are_derived_from_prefix] [statements_use_custom_prefix_without_replacing_inside_names]', () => {
  const { migrations, procedures } = outboxFiles('billing')
  const sql = [...migrations, ...procedures].map((file) => file.sql).join('\n')

  expect(tables('billing')).toEqual(
    tables('outbox').map((name) => name.replace('outbox', 'billing')),
  )
  expect(sql.match(/\boutbox_\w/g)).toBeNull()
  expect(sql.match(NAMES)).not.toBeNull()
})

const indexes = (prefix: string): string[] =>
  outboxFiles(prefix).migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/create index (\w+)/g)].map(([, name]) => name!),
  )

test('indexes have names of their own [default_indexes_match_existing_names]', () => {
  expect(indexes('outbox').length).toBeGreaterThan(3)
  expect(indexes('billing')).toEqual(
    indexes('outbox').map((name) => name.replace('outbox', 'billing')),
  )
})

test('a prefix that contains names of the default is replaced once [sequence_tables_handle_prefix_containing_default_table_token]', () => {
  for (const prefix of ['outbox_messages', 'my_outbox_', 'outbox_outbox']) {
    expect(tables(prefix)).toEqual(
      tables('outbox').map((name) => `${prefix}_${name.slice('outbox_'.length)}`),
    )
    expect(withPrefix('outbox_keys outbox_keys_at my_outbox_keys', prefix)).toBe(
      `${prefix}_keys ${prefix}_keys_at my_outbox_keys`,
    )
  }
})

test('a dollar sign in a prefix is not a replacement pattern', () => {
  expect(() => withPrefix('outbox_keys', '$&')).toThrow('outbox: prefix must be')
})

test('names in SQL stay below the 63 bytes that PostgreSQL keeps', () => {
  const { migrations, procedures } = outboxFiles('x'.repeat(36))
  const sql = [...migrations, ...procedures].map((file) => file.sql).join('\n')

  const longest = Math.max(...[...sql.matchAll(/\bx{36}\w*/g)].map(([name]) => name.length))
  expect(longest).toBeLessThanOrEqual(63)
})

const names = (prefix: string): string[] => {
  const { family, migrations } = outboxFiles(prefix)
  return migrations.map(({ name }) => `${family}${name}`)
}

test('each prefix is a family of its own [custom_migration_name_is_deterministic_and_distinct] [prefixed_migration_name_is_deterministic_and_distinct] [default_and_prefixed_migration_names_do_not_collide] [default_migration_name_is_preserved]', () => {
  expect(names('outbox')).toEqual(['outbox/outbox/migrations/0001_outbox'])
  expect(names('billing')).toEqual(names('billing'))
  expect(names('billing').filter((name) => names('outbox').includes(name))).toEqual([])
})
