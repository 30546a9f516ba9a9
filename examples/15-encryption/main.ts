// Patient letters that nobody with access to the database can read. Values are compressed, then encrypted
// with AES-256-GCM; half-way the key is rotated while an instance waits: the new key encrypts what comes,
// the old one still decrypts what is there.
//
//   npm run build && npx tsx examples/15-encryption/main.ts [file:clinic.db]

import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compression, encryption, open } from 'holdfast'
import { findings, letter } from './workflow.ts'

// In a real program they come from a secret manager. Made by: randomBytes(32).toString('base64')
const lastYear = { id: '2025', key: 'sQ0ePN9PMVIsWDYYlNmNpTcXQPwrrNnbYbpsNRKZRvk=' }
const thisYear = { id: '2026', key: 'pT8yBs7cmdLzDRAm5pWJ1yYuTSFNfcmqNwBfDKvVtcE=' }

const path =
  process.argv[2]?.slice('file:'.length) ??
  join(mkdtempSync(join(tmpdir(), 'clinic-')), 'clinic.db')
const store = `file:${path}`

/** Whether a text can be found in the files of the database. */
function isReadable(text: string): boolean {
  return [path, `${path}-wal`].some((file) => {
    try {
      return readFileSync(file).includes(text)
    } catch {
      return false // SQLite has removed its log
    }
  })
}

// Written with the key of last year.
const before = await open(store, {
  register: letter,
  codec: [compression(), encryption({ keys: [lastYear] })],
})
await before.start(letter, 'Ada Lovelace', { id: 'letter-1' })
await before.close()
console.log(`stored with key ${lastYear.id}; the name can be read: ${isReadable('Lovelace')}`)

// The first key encrypts from now on; all of them decrypt.
await using after = await open(store, {
  register: letter,
  codec: [compression(), encryption({ keys: [thisYear, lastYear] })],
})
await after.get('letter-1').send(findings, 'all is well')
console.log(await after.get('letter-1').result())
console.log(`stored with key ${thisYear.id}; the finding can be read: ${isReadable('all is well')}`)

// A process without the keys gets an error that says so.
await using stranger = await open(store, {
  register: letter,
  log: { debug() {}, info() {}, warn() {}, error() {} },
})
await stranger
  .get('letter-1')
  .result()
  .catch((error: Error) => console.log(error.message))
