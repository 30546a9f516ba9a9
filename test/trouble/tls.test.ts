import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { open, type OpenOptions, type Runtime, type Store } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { memoryLog } from '../support/workers.ts'
import { countedWork } from './line.ts'
import { type OwnServer, ownServer } from './own-server.ts'
import { until } from './stage.ts'

const LIMIT_MS = 90_000

interface Certificate {
  readonly path: string
  readonly cert: string
  readonly key: string
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-tls-'))

/** A certificate that vouches for itself, for one name; `undefined` without the openssl program. */
function certificateFor(name: string): Certificate | undefined {
  const path = join(folder, `${name}.crt`)
  const key = join(folder, `${name}.key`)
  const options = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  try {
    execFileSync('openssl', [...options, ...subject, '-keyout', key, '-out', path], {
      stdio: 'ignore',
    })
  } catch {
    return undefined
  }
  return { path, cert: readFileSync(path, 'utf8'), key: readFileSync(key, 'utf8') }
}

function openWith(store: Store, register: OpenOptions['register']): Promise<Runtime> {
  return open(store, { register, lease: '3s', log: memoryLog() })
}

const local = certificateFor('localhost')
const other = certificateFor('db.example')

describe.skipIf(local === undefined)('over TLS (where there is an openssl program)', () => {
  let server: OwnServer

  const present = async ({ cert, key }: Certificate): Promise<void> => {
    server.write('server.crt', cert)
    server.write('server.key', key)
    await server.query('select pg_reload_conf()')
  }
  const url = (parameters: string): string =>
    `postgres://holdfast@localhost:${server.port}/postgres?${parameters}`

  beforeAll(async () => {
    server = await ownServer()
    server.write('server.crt', local!.cert)
    server.write('server.key', local!.key)
    await server.query('alter system set ssl to on')
    // Connections without TLS are refused.
    await server.letIn('hostssl all all all trust')
  }, LIMIT_MS)
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  }, LIMIT_MS)

  const ways: [string, () => { store: Store; end?: () => Promise<void> }][] = [
    [
      'sslmode=require, as libpq means it',
      () => ({ store: postgres({ url: url('uselibpqcompat=true&sslmode=require') }) }),
    ],
    [
      'sslmode=verify-full with the certificate of the issuer',
      () => ({ store: postgres({ url: url(`sslmode=verify-full&sslrootcert=${local!.path}`) }) }),
    ],
    [
      'a pool with the same',
      () => {
        const ssl = { ca: local!.cert }
        const pool = new Pool({
          connectionString: url(''),
          ssl,
          max: 20,
          application_name: 'holdfast pool',
        })
        return { store: postgres({ pool }), end: () => pool.end() }
      },
    ],
  ]
  test.each(ways)(
    'all connections are encrypted with %s',
    async (_, make) => {
      const { store, end } = make()
      const { line } = countedWork()
      const runtime = await openWith(store, line)

      expect(await runtime.run(line, 3)).toBe(6)
      await until(async () => {
        const found = (await server.ours()).map(({ name, query }) => `${name} ${query}`)
        return /holdfast lease/.test(found.join()) && /listen/i.test(found.join())
      })

      const ours = await server.ours()
      expect(ours.length).toBeGreaterThan(3)
      expect(ours.filter(({ ssl }) => !ssl)).toEqual([])
      await runtime.close({ drain: 0 })
      await end?.()
    },
    LIMIT_MS,
  )

  test.each<[string, () => Store, RegExp]>([
    [
      'it has no known issuer',
      () => postgres({ url: url('sslmode=verify-full') }),
      /self-signed certificate/,
    ],
    [
      'there is no TLS',
      () => postgres({ url: url('sslmode=disable') }),
      /no pg_hba.conf entry|no encryption/,
    ],
  ])(
    'opening fails at once when %s',
    async (_, store, words) => {
      const { line } = countedWork()

      const opened = openWith(store(), line)

      await expect(opened).rejects.toMatchObject({
        code: 'misconfigured',
        message: expect.stringMatching(words),
      })
    },
    LIMIT_MS,
  )

  test(
    'a certificate with another name is refused, and tolerated by a process that was connected before',
    async () => {
      const both = join(folder, 'both.crt')
      const store = (): Store => postgres({ url: url(`sslmode=verify-full&sslrootcert=${both}`) })
      execFileSync('sh', ['-c', `cat '${local!.path}' '${other!.path}' > '${both}'`])
      const { line, runs } = countedWork()
      const runtime = await openWith(store(), line)

      const starts = Array.from({ length: 10 }, () => runtime.start(line, 20))
      const before = (await Promise.all(starts)).map((instance) => instance.result())
      await present(other!)
      await server.cut()
      const refused = await openWith(store(), line).catch((error: unknown) => error)
      await present(local!)

      expect(refused).toMatchObject({
        code: 'misconfigured',
        message: expect.stringContaining('localhost'),
      })
      expect(await Promise.all(before)).toEqual(before.map(() => 210))
      expect([...runs.values()]).toEqual(Array.from({ length: 200 }, () => 1))
      await runtime.close({ drain: 0 })
    },
    LIMIT_MS,
  )
})
