import { connect } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type TestSchema, testSchema } from '../support/postgres.ts'
import { holdfast, runProgram, shell } from './cli.ts'
import { Projects } from './scene.ts'
import { QUIET, seedOutbox } from './seed.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const projects = new Projects()
let schema: TestSchema

beforeAll(async () => {
  await projects.seed()
  schema = await testSchema('cli_messages')
})

afterAll(async () => {
  projects.remove()
  await schema[Symbol.asyncDispose]()
})

/** Fills the outbox of the PostgreSQL schema anew. */
async function seedPostgres(): Promise<Record<string, string>> {
  const { url, schema: name } = schema
  await schema.query(`drop schema if exists "${name}" cascade`)
  await using client = connect(postgres({ url, schema: name }), { log: QUIET })
  const connection = new Client({ connectionString: url })
  await connection.connect()
  await seedOutbox(client, async (work) => {
    await connection.query('begin')
    await work(connection as never)
    await connection.query('commit')
  })
  await connection.end()
  return { HOLDFAST_STORE: url, HOLDFAST_SCHEMA: name }
}

/** How many messages the partitions hold that a command printed. */
function depth({ stdout }: { stdout: string }): number {
  return (JSON.parse(stdout) as { depth: number }[]).reduce((sum, row) => sum + row.depth, 0)
}

describe.each(['SQLite', 'PostgreSQL'])('an outbox on %s', (kind) => {
  test('its messages are counted, and its dead letters dealt with', async () => {
    const env = kind === 'SQLite' ? {} : await seedPostgres()
    const where = { cwd: projects.create(), env }

    const stats = await holdfast(['outbox', '-o', 'json'], where)
    const listed = await holdfast(['dead-letters', 'list', '-o', 'json'], where)
    const replayed = await shell(
      'holdfast dead-letters replay -o ids | holdfast dead-letters reject - --reason "still down"',
      where,
    )
    const again = await holdfast(['dead-letters', 'list'], where)
    const requeued = await holdfast(['dead-letters', 'requeue', '1'], where)
    const missing = await holdfast(['dead-letters', 'requeue', '1'], where)
    const after = await holdfast(['outbox', '-o', 'json'], where)

    expect(depth(stats)).toBe(2)
    expect(JSON.parse(listed.stdout)).toMatchObject([
      {
        id: '1',
        status: 'pending',
        message: { topic: 'order-placed', payload: { order: 'order-7' } },
      },
    ])
    expect(replayed).toMatchObject({ code: 0, stderr: 'rejected: 1 dead letter\n' })
    expect(again.stdout).toContain('still down')
    expect(requeued.code).toBe(0)
    expect(missing.code).toBe(3)
    expect(depth(after)).toBe(3)
  })

  test('one that does not exist is not created', async () => {
    const env = kind === 'SQLite' ? {} : await seedPostgres()
    const where = { cwd: projects.create(), env }

    const unknown = await holdfast(['outbox', '--prefix', 'events'], where)
    const created = await holdfast(['migrate', '--outbox', 'events'], where)
    const known = await holdfast(['outbox', '--prefix', 'events', '-o', 'json'], where)

    expect(unknown.code).toBe(3)
    expect(unknown.stderr).toContain('holdfast migrate --outbox events')
    expect(created.code).toBe(0)
    expect(created.stderr).toMatch(/: nothing to do; .*\n.*: created; outbox "events"/)
    expect(known).toMatchObject({ code: 0, stdout: '[]\n' })
  })
})

test('dead letters of a queue are listed, retried and discarded', async () => {
  const cwd = projects.create()

  const dead = await holdfast(['queue', 'dead', 'queue.db', '-o', 'ids'], { cwd })
  const retried = await holdfast(['queue', 'retry', 'queue.db', '-'], { cwd, input: dead.stdout })
  const stats = await holdfast(['queue', 'stats', 'queue.db', '-o', 'json'], { cwd })
  const discarded = await holdfast(['queue', 'discard', 'queue.db', '0'], { cwd })
  const missing = await holdfast(['queue', 'stats', 'nope.db'], { cwd })

  expect(dead.stdout).toBe('0\n')
  expect(retried.code).toBe(0)
  expect(JSON.parse(stats.stdout)).toMatchObject({ total: 3, ready: 3, dead: 0 })
  expect(discarded.code).toBe(3)
  expect(missing.code).toBe(3)
})

describe('migrate', () => {
  test('creates a store, says that it is up to date, and does nothing again', async () => {
    const cwd = projects.create()
    const store = ['--store', 'file:new.db']

    const before = await holdfast(['migrate', '--status', ...store], { cwd })
    const first = await holdfast(['migrate', ...store], { cwd })
    const after = await holdfast(['migrate', '--status', '-o', 'json', ...store], { cwd })
    const second = await holdfast(['migrate', ...store], { cwd })

    expect(before.code).toBe(1)
    expect(first.code).toBe(0)
    expect(first.stderr).toMatch(/new\.db: created; .* is up to date/)
    expect(JSON.parse(after.stdout)).toMatchObject([{ tables: 'workflows', state: 'current' }])
    expect(second.stderr).toContain('nothing to do')
  })

  test('prune that only looks says that it counts no histories', async () => {
    const { stdout } = await holdfast(['prune', '--dry-run'], { cwd: projects.create() })

    expect(stdout).toBe('would delete 0 instances; histories are not counted\n')
  })

  test('prints SQL that creates the schema', async () => {
    const { url, schema: name } = schema
    await schema.query(`drop schema if exists "${name}" cascade`)

    const printed = await holdfast(['migrate', '--print', '--schema', name, '--outbox', 'outbox'])
    await schema.query(printed.stdout)
    const status = await holdfast(
      ['migrate', '--status', '--outbox', 'outbox', '-o', 'json', '--schema', name],
      { env: { HOLDFAST_STORE: url } },
    )

    expect(JSON.parse(status.stdout)).toMatchObject([{ state: 'current' }, { state: 'current' }])
  })
})

describe('completion', () => {
  test('bash completes commands, subcommands and options', async () => {
    const { stdout: script } = await holdfast(['completion', 'bash'])
    const complete = async (words: string): Promise<string[]> => {
      const list = words.split(' ')
      const program = `${script}
COMP_WORDS=(${list.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${list.length - 1}
_holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
      const { stdout } = await runProgram('bash', ['-c', program])
      return stdout.split('\n').filter(Boolean)
    }

    expect(await complete('holdfast inst')).toEqual(['instances'])
    expect(await complete('holdfast instances ca')).toEqual(['cancel'])
    expect(await complete('holdfast instances cancel --dr')).toEqual(['--dry-run'])
    expect(await complete('holdfast migrate --pr')).toEqual(['--print'])
    // The shell splits words at colons and equals signs.
    expect(await complete('holdfast --store file : x.db instances ca')).toEqual(['cancel'])
    expect(await complete('holdfast --store = file : x.db instances ca')).toEqual(['cancel'])
    expect(await complete('holdfast -o json instances ca')).toEqual(['cancel'])
    expect(await complete('holdfast instances list --status fa')).toEqual(['failed'])
    expect(await complete('holdfast instances list --status = fa')).toEqual(['failed'])
    expect(await complete('holdfast dead-letters list --status ')).toContain('pending')
    expect(await complete('holdfast -o ')).toEqual(['table', 'json', 'ids'])
    expect(await complete('holdfast instances list --store ')).toEqual([])
  })

  test('zsh and fish get scripts of their own', async () => {
    const zsh = await holdfast(['completion', 'zsh'])
    const fish = await holdfast(['completion', 'fish'])
    const other = await holdfast(['completion', 'csh'])

    expect(zsh.stdout).toContain('bashcompinit')
    expect(fish.stdout).toContain('-n "__fish_seen_subcommand_from instances; and')
    expect(fish.stdout).toContain('-l output -x -a "table json ids"')
    expect(other.code).toBe(2)
  })
})
