import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { postgresUrl, type TestSchema, testSchema } from '../support/postgres.ts'
import { holdfast, shell } from './cli.ts'
import { approval } from './programs/shop.ts'
import { Projects } from './scene.ts'
import { HOSTILE, seedInstances } from './seed.ts'

// Each command is a process, and they share the machine with others.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const projects = new Projects()
let schema: TestSchema

beforeAll(async () => {
  await projects.seed()
  schema = await testSchema('cli')
  await seedInstances(postgres({ url: schema.url, schema: schema.schema }))
})

afterAll(async () => {
  projects.remove()
  await schema[Symbol.asyncDispose]()
})

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
}

const PLACES: readonly (readonly [name: string, place: () => Place])[] = [
  ['SQLite', () => ({ cwd: projects.create(), env: {} })],
  [
    'PostgreSQL',
    () => ({
      cwd: projects.create(),
      env: { HOLDFAST_STORE: schema.url, HOLDFAST_SCHEMA: schema.schema },
    }),
  ],
]

describe.each(PLACES)('on %s', (_, place) => {
  test('lists as a table, as JSON and as ids', async () => {
    const where = place()

    const [table, json, ids] = await Promise.all([
      holdfast(['instances', 'list', '--workflow', 'order', '--status', 'failed'], where),
      holdfast(['instances', 'list', '--label', 'customer=42', '-o', 'json'], where),
      holdfast(['instances', 'list', '--id-prefix', 'order-7', '-o', 'ids'], where),
    ])

    expect(table.stdout).toMatch(/^ID +WORKFLOW +VERSION +STATUS/)
    expect(table.stdout).toContain('card 4242 was declined')
    expect(JSON.parse(json.stdout)).toMatchObject([
      { id: 'order-7', workflow: 'order', status: 'completed', labels: { customer: '42' } },
    ])
    expect(ids).toMatchObject({ code: 0, stdout: 'order-7\n', stderr: '' })
  })

  test('shows an instance, its history and its tree', async () => {
    const where = place()

    const [show, history, tree, errors] = await Promise.all([
      holdfast(['instances', 'show', 'order-7', '-o', 'json'], where),
      holdfast(['instances', 'history', 'order-7', '-o', 'json'], where),
      holdfast(['instances', 'tree', 'family-1'], where),
      holdfast(['errors', '-o', 'json'], where),
    ])

    expect(JSON.parse(show.stdout)).toMatchObject({
      id: 'order-7',
      output: 'charged 700',
      usage: { executions: 1 },
      executions: [{ execution: 1, status: 'completed' }],
    })
    expect((JSON.parse(history.stdout) as { type: string }[]).map(({ type }) => type)).toEqual([
      'started',
      'progress',
      'activity',
      'completed',
      'ended',
    ])
    expect(tree.stdout).toMatch(/^family-1 .*\n├─ family-1\/.*\n└─ family-1\/.*\n$/)
    expect(JSON.parse(errors.stdout)).toContainEqual(
      expect.objectContaining({ workflow: 'order', latestId: 'order-8' }),
    )
  })

  test('text of workflows cannot control the terminal', async () => {
    const where = place()

    const answers = await Promise.all([
      holdfast(['instances', 'list'], where),
      holdfast(['instances', 'show', 'order-hostile'], where),
      holdfast(['instances', 'show', 'order-hostile', '-o', 'json'], where),
      holdfast(['instances', 'history', 'order-hostile', '-o', 'json'], where),
      holdfast(['errors'], where),
    ])

    for (const { stdout } of answers) {
      expect(stdout).toContain('was declined')
      // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
      expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    }
    const info = JSON.parse(answers[2].stdout) as { error: { message: string } }
    expect(info.error.message).toContain(HOSTILE)
  })

  test('an unknown id ends with 3, and says which', async () => {
    const answers = await Promise.all(
      [
        ['instances', 'show', 'nope'],
        ['instances', 'history', 'nope'],
        ['instances', 'tree', 'nope'],
        ['instances', 'watch', 'nope'],
        ['instances', 'cancel', 'nope'],
        ['instances', 'delete', 'nope'],
        ['instances', 'export', 'nope'],
        ['instances', 'fork', 'nope', '--at', '1'],
      ].map((args) => holdfast(args, place())),
    )

    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 3))
    for (const { stderr } of answers) expect(stderr).toMatch(/nope/)
  })

  test('schedules are listed, shown, paused, resumed and triggered', async () => {
    const where = place()

    const listed = await holdfast(['schedules', 'list'], where)
    const paused = await holdfast(['schedules', 'pause', 'nightly', 'nope'], where)
    const shown = await holdfast(['schedules', 'show', 'nightly', '-o', 'json'], where)
    const resumed = await holdfast(['schedules', 'resume', '-'], { ...where, input: 'nightly\n' })
    const triggered = await holdfast(['schedules', 'trigger', 'nightly'], where)
    const missing = await holdfast(['schedules', 'show', 'nope'], where)

    expect(listed.stdout).toMatch(/nightly +order +0 3 \* \* \* Europe\/Berlin +active/)
    expect(paused).toMatchObject({ code: 3, stderr: 'paused: 1 schedule\nnot found: nope\n' })
    expect(JSON.parse(shown.stdout)).toMatchObject({ name: 'nightly', paused: true, nextRuns: [] })
    expect(resumed.code).toBe(0)
    expect(triggered).toMatchObject({ code: 0, stdout: expect.stringMatching(/\S+\n/) as string })
    expect(missing.code).toBe(3)
  })

  test('stats, workflows, tasks, runtimes and doctor answer', async () => {
    const where = place()

    const [stats, workflows, tasks, runtimes, doctor, metrics] = await Promise.all([
      holdfast(['stats', '-o', 'json'], where),
      holdfast(['workflows', '-o', 'json'], where),
      holdfast(['tasks', '-o', 'json'], where),
      holdfast(['runtimes', '-o', 'json'], where),
      holdfast(['doctor', '-o', 'json'], where),
      holdfast(['stats', '--metrics'], where),
    ])

    expect(JSON.parse(stats.stdout)).toMatchObject({ messages: { waiting: 0 } })
    expect(JSON.parse(workflows.stdout)).toContainEqual(
      expect.objectContaining({ name: 'approval', servedBy: 0 }),
    )
    expect(JSON.parse(tasks.stdout)).toEqual([])
    expect(JSON.parse(runtimes.stdout)).toEqual([])
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({ what: 'migrations', level: 'ok' }),
    )
    expect(metrics.stdout).toMatch(/^instances\.running 2$/m)
  })
})

describe('verbs', () => {
  test('a conflict ends with 4, and others of the same call are still changed', async () => {
    const cwd = projects.create()

    const ended = await holdfast(['instances', 'terminate', 'order-7', 'approval-1'], { cwd })
    const status = await holdfast(['instances', 'show', 'approval-1', '-o', 'json'], { cwd })

    expect(ended.code).toBe(4)
    expect(ended.stderr).toContain('terminated: 1 instance\n')
    expect(ended.stderr).toContain('has ended: order-7')
    expect(JSON.parse(status.stdout)).toMatchObject({ status: 'terminated' })
  })

  test('ids are read from standard input', async () => {
    const cwd = projects.create()

    const piped = await shell(
      'holdfast instances list --status suspended -o ids | holdfast instances resume -',
      { cwd },
    )
    const left = await holdfast(['instances', 'count', '--status', 'suspended'], { cwd })

    expect(piped).toMatchObject({ code: 0, stderr: 'resumed: 1 instance\n' })
    expect(left.stdout).toBe('0\n')
  })

  test('of many ids, those that are missing or have ended are named', async () => {
    const cwd = projects.create()
    const client = await open(`file:${join(cwd, 'shop.db')}`, { register: approval })
    const ids = Array.from({ length: 120 }, (_, i) => `many-${i}`)
    await Promise.all(ids.map((id) => client.start(approval, null, { id })))
    await client.close()
    const ended = ['many-3', 'many-77']
    await holdfast(['instances', 'terminate', ...ended], { cwd })
    const input = [...ids, 'missing-1'].join('\n')

    const answer = await holdfast(['instances', 'terminate', '-', '-o', 'json'], { cwd, input })

    expect(answer.code).toBe(3)
    const report = { done: 118, notFound: ['missing-1'], refused: ended }
    expect(JSON.parse(answer.stdout)).toEqual(report)
    expect(answer.stderr).toContain('has ended: many-77\n')
  })

  test('a filter needs --yes without a terminal, and --dry-run changes nothing', async () => {
    const cwd = projects.create()
    const filter = ['instances', 'cancel', '--workflow', 'approval']

    const refused = await holdfast(filter, { cwd })
    const dry = await holdfast([...filter, '--dry-run', '-o', 'ids'], { cwd })
    const done = await holdfast([...filter, '--yes'], { cwd })
    const nothing = await holdfast(['instances', 'cancel'], { cwd })

    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('--yes')
    expect(dry.stdout.split('\n').filter(Boolean).toSorted()).toEqual([
      'approval-1',
      'approval-2',
      'paused-1',
    ])
    expect(done).toMatchObject({ code: 0, stderr: 'cancellation requested: 3 instances\n' })
    expect(nothing).toMatchObject({ code: 2 })
  })

  test('delete leaves out children of a parent that runs, and what has not ended', async () => {
    const cwd = projects.create()

    const refused = await holdfast(['instances', 'delete', 'approval-1'], { cwd })
    const forced = await holdfast(['instances', 'delete', 'approval-1', '--force'], { cwd })
    const all = await holdfast(['instances', 'delete', '--status', 'completed', '--yes'], { cwd })
    const rest = await holdfast(['instances', 'count', '--status', 'completed'], { cwd })

    expect(refused.code).toBe(4)
    expect(forced.code).toBe(0)
    expect(all.code).toBe(0)
    expect(rest.stdout).toBe('0\n')
  })

  test('an export can be imported, and an id that is taken is a conflict', async () => {
    const cwd = projects.create()

    const piped = await shell(
      'holdfast instances export order-9 | holdfast instances import - --id copy',
      { cwd },
    )
    const taken = await holdfast(['instances', 'import', 'order-9.json'], { cwd })
    const garbage = await holdfast(['instances', 'import', '-'], { cwd, input: 'x' })

    expect(piped).toMatchObject({ code: 0, stdout: 'copy\n' })
    expect(taken.code).toBe(4)
    expect(garbage.code).toBe(2)
  })
})

describe('the store', () => {
  test('none is a usage error that says what to do', async () => {
    const cwd = projects.create({ holdfast: undefined })

    const answer = await holdfast(['instances', 'list'], { cwd })

    expect(answer.code).toBe(2)
    expect(answer.stderr).toMatch(/--store .* HOLDFAST_STORE.* package\.json/s)
  })

  test('a wrong address creates nothing', async () => {
    const cwd = projects.create()

    const file = await holdfast(['instances', 'list', '--store', 'file:typo.db'], { cwd })
    const server = await holdfast(
      ['instances', 'list', '--store', postgresUrl(), '--schema', 'cli_typo'],
      { cwd },
    )
    const found = await schema.query(
      `select 1 from information_schema.schemata where schema_name = 'cli_typo'`,
    )

    expect(file.code).toBe(3)
    expect(existsSync(join(cwd, 'typo.db'))).toBe(false)
    expect(server.code).toBe(3)
    expect(server.stderr).toContain('holdfast migrate')
    expect(found).toEqual([])
  })

  test('passwords of addresses are never printed', async () => {
    const cwd = projects.create()
    const url = 'postgres://kim:s3cret@127.0.0.1:1/shop?sslpassword=s3cret2'
    // Drivers accept a space in a URL.
    const live = new URL(postgresUrl())
    const spaced = `postgres://${live.username}:se s3cret@${live.host}${live.pathname}`

    const answers = await Promise.all([
      holdfast(['instances', 'list', '--schema', 'cli_typo'], {
        cwd,
        env: { HOLDFAST_STORE: spaced },
      }),
      holdfast(['instances', 'list', '--store', url, '--verbose'], { cwd }),
      holdfast(['doctor', '--store', url, '--verbose'], { cwd }),
      holdfast(['instances', 'list', '--store', 'mysql://kim:s3cret@host/x'], { cwd }),
      holdfast(['migrate', '--store', url], { cwd }),
    ])

    for (const { code, stdout, stderr } of answers) {
      expect(code).not.toBe(0)
      expect(stderr).not.toBe('')
      expect(stdout + stderr).not.toContain('s3cret')
    }
  })

  test('a file that is not a store is refused, and left as it is', async () => {
    const cwd = projects.create()
    writeFileSync(
      join(cwd, 'text.db'),
      'this is not a database, though it is long enough'.repeat(50),
    )
    copyFileSync(join(cwd, 'queue.db'), join(cwd, 'other.db'))

    const text = await holdfast(['instances', 'list', '--store', 'file:text.db'], { cwd })
    const queue = await holdfast(['instances', 'list', '--store', 'file:other.db'], { cwd })

    const folder = await holdfast(['instances', 'list', '--store', 'file:node_modules'], { cwd })

    expect(text).toMatchObject({ code: 1, stdout: '' })
    expect(text.stderr).toContain('text.db: it is not an SQLite database')
    expect(folder).toMatchObject({ code: 1, stdout: '' })
    expect(folder.stderr).toContain('node_modules is not a file')
    expect(queue.code).toBe(1)
    expect(queue.stderr).toContain('holds queues')
  })

  test('doctor names a damaged file, and says what to do', async () => {
    const cwd = projects.create()
    const bytes = readFileSync(join(cwd, 'shop.db'))
    writeFileSync(join(cwd, 'short.db'), bytes.subarray(0, 40_960))
    writeFileSync(join(cwd, 'text.db'), 'this is not a database'.repeat(100))
    writeFileSync(join(cwd, 'empty.db'), '')
    for (let at = 2 * 4_096; at < bytes.length; at += 3 * 4_096) bytes.fill(0xab, at, at + 4_096)
    writeFileSync(join(cwd, 'torn.db'), bytes)
    const examine = async (name: string): Promise<unknown> => {
      const { code, stdout } = await holdfast(
        ['doctor', '-o', 'json', '--store', `file:${name}.db`],
        { cwd },
      )
      expect(code).toBe(1)
      return (JSON.parse(stdout) as unknown[])[0]
    }

    const listed = await holdfast(['instances', 'list', '--store', 'file:torn.db'], { cwd })

    for (const name of ['short', 'torn', 'text']) {
      expect(await examine(name)).toMatchObject({
        level: 'error',
        what: 'integrity',
        detail: expect.stringContaining(join(cwd, `${name}.db`)) as string,
        fix: expect.stringContaining('restore a backup') as string,
      })
    }
    expect(await examine('empty')).toMatchObject({
      what: 'migrations',
      detail: expect.stringContaining('is empty') as string,
    })
    expect(listed.code).toBe(1)
    // It is found when the file is opened, or when it is read.
    expect(listed.stderr).toMatch(/torn\.db(, which)? is damaged/)
  })

  test.skipIf(!existsSync('/dev/full'))('output that cannot be written is an error', async () => {
    const cwd = projects.create()

    const full = await shell('holdfast instances list > /dev/full', { cwd })

    expect(full).toMatchObject({ code: 1, stdout: '' })
    expect(full.stderr).toContain('cannot write the output')
  })

  test('a file that another process uses can be read and changed', async () => {
    const cwd = projects.create()
    const path = join(cwd, 'shop.db')
    await using runtime = await open(`file:${path}`, { register: approval })
    const instance = await runtime.start(approval, null, { id: 'live-1' })

    const listed = await holdfast(['instances', 'list', '--id-prefix', 'live-', '-o', 'ids'], {
      cwd,
    })
    const watched = holdfast(['instances', 'watch', 'live-1', '-o', 'json'], { cwd })
    const sent = await holdfast(['instances', 'send', 'live-1', 'decision', '{"approved":true}'], {
      cwd,
    })

    expect(listed.stdout).toBe('live-1\n')
    expect(sent.code).toBe(0)
    await expect(instance.result()).resolves.toBe('approved')
    const { code, stdout } = await watched
    expect(code).toBe(0)
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({ status: 'completed' })
  })
})

describe('the command line', () => {
  test('what it does not know is refused with a guess', async () => {
    const answers = await Promise.all([
      holdfast(['instances', 'lsit']),
      holdfast(['instanses']),
      holdfast(['instances', 'list', '--statsu', 'failed']),
      holdfast(['instances', 'list', '--status', 'faild']),
      holdfast(['instances', 'list', '--limit', '-3']),
      holdfast(['instances', 'show']),
      holdfast(['instances', 'show', 'a', 'b']),
      holdfast(['instances']),
      holdfast(['instances', 'list', '-o', 'yaml']),
    ])

    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 2))
    expect(answers.map(({ stderr }) => stderr.split('\n')[0])).toEqual([
      'holdfast: instances: unknown command "lsit", did you mean "list"?',
      'holdfast: unknown command "instanses", did you mean "instances"?',
      'holdfast: instances list: unknown option "--statsu", did you mean "--status"?',
      expect.stringContaining('--status must be one of scheduled, running'),
      'holdfast: --limit needs a value; if it begins with a dash, write --limit=-3',
      'holdfast: instances show: <id> is missing',
      'holdfast: instances show: unexpected argument "b"',
      expect.stringContaining('instances: which command? list, count'),
      expect.stringContaining('--output must be one of'),
    ])
    for (const { stderr, stdout } of answers) {
      expect(stdout).toBe('')
      expect(stderr).not.toMatch(/\n\s+at /)
    }
  })

  test('it says what commands are, and not which functions they call', async () => {
    const cwd = projects.create()

    const [tree, sent, tasks, fresh] = await Promise.all([
      holdfast(['instances', 'tree', 'nope'], { cwd }),
      holdfast(['instances', 'send', 'later', 'decision', '1'], { cwd }),
      holdfast(['tasks'], { cwd }),
      holdfast(['doctor', '-o', 'json', '--schema', 'cli_typo'], {
        cwd,
        env: { HOLDFAST_STORE: postgresUrl() },
      }),
    ])

    expect(tree).toMatchObject({ code: 3, stderr: 'holdfast: there is no instance "nope"\n' })
    expect(sent.code).toBe(0)
    expect(sent.stderr).toContain('later was not started yet; the message waits for it')
    expect(tasks.stderr).toContain('beside their instance')
    expect(JSON.parse(fresh.stdout)).toContainEqual(
      expect.objectContaining({
        what: 'migrations',
        fix: expect.stringMatching(/^`holdfast migrate`/) as string,
      }),
    )
    expect(fresh.stdout).not.toContain('migrationSql')
  })

  test('exit codes tell a file that is missing from a mistake', async () => {
    const cwd = projects.create()
    const exitOf = async (...args: string[]): Promise<readonly [number | null, string]> => {
      const { code, stderr } = await holdfast(args, { cwd })
      return [code, stderr.split('\n')[0]!]
    }

    const answers = await Promise.all([
      exitOf('instances', 'import', 'nofile'),
      exitOf('instances', 'send', 'approval-1', 'decision', '@nofile'),
      exitOf('check', 'shop.ts', '--from', 'nofile'),
      exitOf('instances', 'import', 'package.json'),
      exitOf('instances', 'list', '--after', 'garbage'),
      exitOf('dashboard', '--port', '99999'),
    ])

    expect(answers).toEqual([
      [3, 'holdfast: there is no file nofile'],
      [3, 'holdfast: there is no file nofile'],
      [3, 'holdfast: there is no file nofile'],
      [2, 'holdfast: package.json is not an export of Holdfast'],
      [2, expect.stringContaining('--after must be')],
      [2, expect.stringContaining('--port must be')],
    ])
  })

  test('a reader that closes the pipe ends it quietly', async () => {
    const cwd = projects.create()

    const answer = await shell(
      'set -o pipefail; holdfast instances history order-8 -o json | head -1',
      { cwd },
    )

    expect(answer).toMatchObject({ code: 0, stdout: '[\n', stderr: '' })
  })

  test('stack traces are shown with --verbose only', async () => {
    const cwd = projects.create()
    const args = ['instances', 'import', '-']
    const input = '{"holdfast":1}'

    const short = await holdfast(args, { cwd, input })
    const long = await holdfast([...args, '--verbose'], { cwd, input })

    expect(short.stderr).not.toMatch(/\n\s+at /)
    expect(long.stderr).toMatch(/\n\s+at /)
  })
})
