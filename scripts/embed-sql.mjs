// Writes the SQL of src/postgres into a module, so that no file is read at run time and bundlers
// need not know of it. `--check` only says whether the module is fresh.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const POSTGRES = join(import.meta.dirname, '..', 'src', 'postgres')
const TARGET = join(POSTGRES, 'generated', 'sql.ts')

const text = [
  '// Written by scripts/embed-sql.mjs (`npm run generate`): change the .sql files instead.',
  '',
  "import type { SqlFile } from '../sql-file.ts'",
  '',
  ...list('MIGRATIONS', 'migrations', 'Tables, in the order in which they are applied.'),
  '',
  ...list('PROCEDURES', 'procedures', 'Functions, applied again whenever their text changes.'),
  '',
].join('\n')

if (process.argv.includes('--check')) {
  if (readFileSync(TARGET, 'utf8') !== text) {
    process.stderr.write('src/postgres/generated/sql.ts is stale: run `npm run generate`\n')
    process.exitCode = 1
  }
} else {
  writeFileSync(TARGET, text)
}

function list(name, folder, comment) {
  const files = readdirSync(join(POSTGRES, folder))
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
  return [
    `/** ${comment} */`,
    `export const ${name}: readonly SqlFile[] = [`,
    ...files.flatMap((file) =>
      entry(`${folder}/${file.slice(0, -4)}`, join(POSTGRES, folder, file)),
    ),
    ']',
  ]
}

function entry(name, path) {
  // The same on every machine, whatever git made of the line ends.
  const sql = readFileSync(path, 'utf8').replaceAll('\r\n', '\n')
  const checksum = createHash('sha256').update(sql).digest('hex').slice(0, 16)
  const literal = sql.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
  const worksWith = /^-- Works with (\d{4})\.$/m.exec(sql)?.[1]
  return [
    '  {',
    `    name: '${name}',`,
    `    checksum: '${checksum}',`,
    ...(worksWith === undefined ? [] : [`    worksWith: '${worksWith}',`]),
    `    sql: \`${literal}\`,`,
    '  },',
  ]
}
