import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { holdfast } from './cli.ts'
import { Projects } from './scene.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const projects = new Projects()
beforeAll(() => projects.seed())
afterAll(() => projects.remove())

test('check finds instances that changed code would break, and changes nothing', async () => {
  const cwd = projects.create()
  const good = await holdfast(['check', 'shop.ts'], { cwd })
  const code = readFileSync(join(cwd, 'shop.ts'), 'utf8')
  writeFileSync(
    join(cwd, 'shop.ts'),
    code.replace(
      'await ctx.receive(decision)',
      `(await ctx.sleep('1s'), await ctx.receive(decision))`,
    ),
  )

  const broken = await holdfast(['check', 'shop.ts'], { cwd })
  const json = await holdfast(['check', 'shop.ts', '--workflow', 'approval', '-o', 'json'], { cwd })
  const unused = await holdfast(['check', 'shop.ts', '--workflow', 'order'], { cwd })

  expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining('replay') as string })
  expect(broken).toMatchObject({ code: 1 })
  expect(broken.stdout).toContain('approval-1')
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, broken: 3 })
  expect(unused).toMatchObject({ code: 0 })
})

// `npm init` writes "type": "commonjs", or nothing.
test.each([{ type: 'commonjs' }, { type: undefined }])(
  'a module in TypeScript works in a project of %o',
  async (manifest) => {
    const cwd = projects.create(manifest)

    const run = await holdfast(['run', 'order', '{"cents":3}', '--module', 'shop.ts'], { cwd })

    expect(run).toMatchObject({ code: 0, stdout: '"charged 3"\n' })
  },
)

test('an ES module that package.json declares to be CommonJS is explained', async () => {
  const cwd = projects.create({ type: 'commonjs' })
  writeFileSync(join(cwd, 'shop.js'), "import { workflow } from 'holdfast'\n")

  const run = await holdfast(['start', 'shop.js', '--store', 'memory:'], { cwd })

  expect(run).toMatchObject({ code: 1, stdout: '' })
  expect(run.stderr).toContain('npm pkg set type=module')
})

test('values that a project encrypts are shown with its codec, and never without', async () => {
  const cwd = projects.create({ holdfast: { store: 'file:secret.db' } })
  writeFileSync(
    join(cwd, 'codec.ts'),
    `import { encryption } from 'holdfast'
    export const codec = encryption({ keys: [{ id: 'k1', key: new Uint8Array(32).fill(7) }] })\n`,
  )
  writeFileSync(join(cwd, 'none.ts'), 'export const other = 1\n')
  const codec = ['--codec', 'codec.ts']
  const run = ['run', 'order', '{"cents":77}', '--id', 'secret-1', '--module', 'shop.ts']

  const ran = await holdfast([...run, ...codec], { cwd })
  const withIt = await holdfast(['instances', 'show', 'secret-1', '-o', 'json', ...codec], { cwd })
  const without = await holdfast(['instances', 'show', 'secret-1'], { cwd })
  const wrong = await holdfast(['instances', 'list', '--codec', 'none.ts'], { cwd })

  expect(ran).toMatchObject({ code: 0, stdout: '"charged 77"\n' })
  expect(JSON.parse(withIt.stdout)).toMatchObject({ output: 'charged 77' })
  expect(without.code).toBe(0)
  expect(without.stdout).toContain('UnreadableValue: codec: ')
  expect(without.stdout).not.toContain('charged 77')
  expect(without.stderr).toContain('HOLDFAST_CODEC')
  expect(wrong.stderr).toContain('exports no codec')
})
