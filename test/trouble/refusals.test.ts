// A server that runs and refuses what it is asked to do.

import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as passTime } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, expect, test, vi } from 'vitest'
import { ownServer } from './own-server.ts'
import { until, workThrough } from './stage.ts'

const LIMIT_MS = 120_000
// Long enough for every loop of a runtime to fail more than once.
const REFUSED_MS = 2_500
const MAX_CONNECTIONS = 40

// Each has a server of its own, and mostly waits; more of them would keep two cores busy.
vi.setConfig({ maxConcurrency: 2 })

test.concurrent(
  'other applications may use all connections of the server for a while',
  async () => {
    await using server = await ownServer([`max_connections=${MAX_CONNECTIONS}`])
    let refused = 0

    const { findings, instances } = await workThrough(server.url, async ({ worksAgain }) => {
      await worksAgain()
      const others: Client[] = []
      const grab = async (): Promise<void> => {
        const other = new Client({ connectionString: server.url })
        other.on('error', () => {})
        await other.connect().then(
          () => others.push(other),
          () => refused++,
        )
      }
      // Ours are cut until others have taken the place of each.
      for (let ours = Infinity; ours > 0;) {
        const cut = await server.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name like 'holdfast%'`,
        )
        ours = cut.length
        await Promise.all(Array.from({ length: MAX_CONNECTIONS }, grab))
      }
      await passTime(REFUSED_MS)
      await Promise.all(others.map((other) => other.end()))
      await worksAgain()
    })

    expect(findings).toEqual([])
    expect(instances).toBeGreaterThan(20)
    expect(refused).toBeGreaterThan(0)
  },
  LIMIT_MS,
)

test.concurrent(
  'a server may be read-only for a while',
  async () => {
    await using server = await ownServer()
    const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      await server.query(`alter system set default_transaction_read_only to ${value}`)
      await server.query('select pg_reload_conf()')
    }

    const { findings, instances } = await workThrough(server.url, async ({ worksAgain }) => {
      await worksAgain()
      await setReadOnly('on')
      await passTime(REFUSED_MS)
      await setReadOnly('off')
      await worksAgain()
    })

    expect(findings).toEqual([])
    expect(instances).toBeGreaterThan(20)
  },
  LIMIT_MS,
)

test.concurrent(
  'a server may say that its disk is full, for a while',
  async () => {
    await using server = await ownServer()

    const { findings, instances } = await workThrough(server.url, async ({ scene, worksAgain }) => {
      await worksAgain()
      await scene.query(`create function no_space() returns trigger language plpgsql as $$ begin
        raise exception using errcode = '53100', message = 'no space left on device';
      end $$`)
      for (const table of ['history', 'inbox', 'runs', 'runtimes']) {
        await scene.query(
          `create trigger full_disk before insert or update on ${table} execute function no_space()`,
        )
      }
      await passTime(REFUSED_MS)
      await scene.query('drop function no_space cascade')
      await worksAgain()
    })

    expect(findings).toEqual([])
    expect(instances).toBeGreaterThan(20)
  },
  LIMIT_MS,
)

const small = smallDisk()

test.skipIf(small === undefined).concurrent(
  'the disk of the tables may be full for a while (where this process may mount one)',
  async () => {
    await using server = await ownServer()
    const { folder } = small!
    const ballast = join(folder, 'ballast')

    const { findings } = await workThrough(server.url, async ({ scene, worksAgain }) => {
      await worksAgain()
      const inSpace = join(folder, 'space')
      mkdirSync(inSpace)
      const [place] = await server.query('show data_directory')
      const owner = statSync(String(place!['data_directory']))
      chownSync(inSpace, owner.uid, owner.gid)
      await scene.query(`create tablespace small location '${inSpace}'`)
      for (const table of ['history', 'inbox']) {
        await scene.query(`alter table ${table} set tablespace small`)
      }
      fill(ballast)
      // Not before a backend has run out of the pages that were there already.
      await until(() => scene.workers.all.some(({ log }) => log.includes('No space left')))
      await passTime(REFUSED_MS)
      rmSync(ballast)
      await worksAgain()
    })

    expect(findings).toEqual([])
  },
  LIMIT_MS,
)

afterAll(() => small?.remove())

/** A disk of a few megabytes; `undefined` where none can be mounted. */
function smallDisk(): { readonly folder: string; remove(): void } | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', folder], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true })
    return undefined
  }
  return {
    folder,
    remove() {
      execFileSync('umount', ['-l', folder])
      rmSync(folder, { recursive: true })
    },
  }
}

/** Writes to a file until the disk is full. */
function fill(path: string): void {
  const block = Buffer.alloc(4096)
  for (;;) {
    try {
      writeFileSync(path, block, { flag: 'a' })
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOSPC') return
      throw error
    }
  }
}
