import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, posix, sep } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const CONSUMERS = join(import.meta.dirname, 'consumer')
const MANIFEST: Manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** `holdfast`, `holdfast/workers`, … and for each the file that uses it, `index.ts`, `workers.ts`. */
const ENTRIES = Object.keys(MANIFEST.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => ({
    name: posix.join(MANIFEST.name, subpath),
    consumer: `${subpath.slice(2).replaceAll('/', '-') || 'index'}.ts`,
  }))

const TYPESCRIPT_7 = join(ROOT, 'node_modules/typescript/bin/tsc')
const TYPESCRIPT_5_4 = join(ROOT, 'node_modules/typescript-5.4/bin/tsc')

// npm and four compilers take seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
const project = join(folder, 'project')
const installed = join(project, 'node_modules', MANIFEST.name)

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) {
    throw new Error('dist/ is not built: start with `npm run build`, or use `npm test`')
  }
  run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], ROOT)
  mkdirSync(project)
  writeJson('package.json', { name: 'consumer', private: true, type: 'module' })
  const dependencies = Object.keys(MANIFEST.dependencies)
  // Its dependencies from here: nothing else is certain to be there without a network.
  const packages = [tarball(), ...dependencies.map((name) => join(ROOT, 'node_modules', name))]
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...packages], project)
  symlinkSync(join(ROOT, 'node_modules/@types'), join(project, 'node_modules/@types'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the tarball', () => {
  test('publint has nothing to say about it', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed, pack: false })

    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })

  test('it holds the licence, the readme and the changelog', () => {
    expect(files()).toEqual(
      expect.arrayContaining(['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json']),
    )
  })

  test('it holds no tests, and nothing but the build and what is there to read', () => {
    const others = files().filter(
      (file) =>
        /\.test(-d)?\./.test(file) ||
        !/^(dist\/.*\.(js|d\.ts)|docs\/(guide|reference)\/.*|[^/]+)$/.test(file),
    )

    expect(others).toEqual([])
  })

  test('it is no larger than what a user needs', () => {
    const bytes = files().reduce((sum, file) => sum + statSync(join(installed, file)).size, 0)

    expect(files().length).toBeLessThan(1_600)
    expect(bytes).toBeLessThan(6e6)
    expect(statSync(tarball()).size).toBeLessThan(1.75e6)
  })

  test('it holds the guide and the reference that its readme links to', () => {
    const readme = readFileSync(join(installed, 'README.md'), 'utf8')
    const links = [...readme.matchAll(/\]\((docs\/(?:guide|reference)\/[^)#]+)/g)]
      .map(([, link]) => link!)
      // Of our own use.
      .filter((link) => !link.endsWith('contract-coverage.md'))

    expect(links.length).toBeGreaterThan(0)
    expect(links.filter((link) => !existsSync(join(installed, link)))).toEqual([])
  })

  test('it promises nothing that it does not hold', () => {
    const { description, keywords } = MANIFEST

    expect(`${description} ${keywords.join(' ')}`).not.toMatch(/command line/i)
    const readme = readFileSync(join(installed, 'README.md'), 'utf8')
    expect(readme.slice(0, readme.indexOf('##'))).not.toMatch(/command line/i)
  })
})

describe('the command line', () => {
  test('npx finds it, and it works without any other package', () => {
    const version = run('npx', ['--no-install', 'holdfast', '--version'], project)
    const help = run('npx', ['--no-install', 'holdfast', 'instances', 'list', '--help'], project)

    expect(version.trim()).toBe(MANIFEST.version)
    expect(help).toContain('holdfast instances list [options]')
  })
})

describe('the installed package', () => {
  test('each entry can be imported and required, with the same names', () => {
    const load = ENTRIES.map(({ name }) => name)
    const asModule = `
      const names = ${JSON.stringify(load)}.map(async (name) => Object.keys(await import(name)))
      const manifest = await import('${MANIFEST.name}/package.json', { with: { type: 'json' } })
      console.log(JSON.stringify([manifest.default.name, ...await Promise.all(names)]))`
    const asCommonJs = `
      // Node marks a module with a default export for tools that expect one.
      const isName = (name) => name !== '__esModule'
      const names = ${JSON.stringify(load)}.map((name) => Object.keys(require(name)).filter(isName))
      console.log(JSON.stringify([require('${MANIFEST.name}/package.json').name, ...names]))`

    const imported = run(process.execPath, ['--input-type=module', '-e', asModule], project)
    const required = run(process.execPath, ['--input-type=commonjs', '-e', asCommonJs], project)

    const [name, ...values]: [string, ...string[][]] = JSON.parse(imported)
    expect(name).toBe(MANIFEST.name)
    expect(values.filter((names) => names.length === 0)).toEqual([])
    expect(required).toBe(imported)
  })

  test('each entry has a consumer in test/consumer', () => {
    const expected = ENTRIES.map(({ consumer }) => consumer).toSorted()

    expect(readdirSync(CONSUMERS).toSorted()).toEqual(expected)
    for (const { name, consumer } of ENTRIES) {
      expect(readFileSync(join(CONSUMERS, consumer), 'utf8')).toContain(`from '${name}'`)
    }
  })

  test('where it is linked, reports and logs have lines of the program, and none of the package', () => {
    linkDriver()
    cpSync(installed, join(project, 'linked'), { recursive: true })
    const program = `
      import { activity, open, workflow } from '../linked/dist/index.js'
      const pay = activity('pay', { retry: { maxAttempts: 1 } }, () => { throw new Error('declined') })
      const order = workflow('order', (_, ctx) => ctx.run(pay))
      const wait = workflow('wait', async () => { setTimeout(() => {}, 1) })
      const runtime = await open('memory:', { register: [order, wait] })
      await runtime.run(order).catch((error) => console.log(error.message))
      const waiting = await runtime.start(wait)
      while ((await waiting.info()).status !== 'suspended');
      await runtime.close()`
    mkdirSync(join(project, 'app'))
    writeFileSync(join(project, 'app/main.mjs'), program)

    const { stderr } = spawnSync(process.execPath, ['app/main.mjs'], {
      cwd: project,
      encoding: 'utf8',
    })

    const places = [...stderr.matchAll(/file:[^"\\)]*/g)].map(
      ([place]) => place.split('/project/')[1],
    )
    expect(new Set(places)).toEqual(new Set(['app/main.mjs:3:80', 'app/main.mjs:5:51']))
    expect(stderr).toContain('setTimeout() was called at Object.run (file:')
  })

  // TypeScript 5.4 refuses to import ES modules from CommonJS (TS1479), whatever Node can do, so
  // users of both go through a bundler.
  test.each([
    ['an ES module on TypeScript 7', 'esm-7', TYPESCRIPT_7, 'nodenext', '.ts'],
    ['an ES module on TypeScript 5.4', 'esm-5', TYPESCRIPT_5_4, 'nodenext', '.ts'],
    ['a CommonJS module on TypeScript 7', 'cjs-7', TYPESCRIPT_7, 'nodenext', '.cts'],
    ['a bundled module on TypeScript 5.4', 'bundled-5', TYPESCRIPT_5_4, 'bundler', '.ts'],
  ])('%s type-checks, can be declared, and runs', (_, name, compiler, resolution, extension) => {
    mkdirSync(join(project, name))
    for (const { consumer } of ENTRIES) {
      const copy = basename(consumer, '.ts') + extension
      cpSync(join(CONSUMERS, consumer), join(project, name, copy))
    }
    writeJson(`${name}/tsconfig.json`, {
      compilerOptions: {
        // Older than what the package is built for: nothing newer may be needed to read its types.
        // What `lib` lacks of `AsyncDisposable`, @types/node brings.
        target: 'es2022',
        lib: ['es2022'],
        types: ['node'],
        module: resolution === 'bundler' ? 'esnext' : resolution,
        moduleResolution: resolution,
        strict: true,
        exactOptionalPropertyTypes: true,
        // Our declarations are checked too, not only used; once by each compiler, since that takes long.
        skipLibCheck: !name.startsWith('esm'),
        // Every exported value must have a type that a consumer's declarations can name.
        declaration: true,
        outDir: 'out',
        noEmitOnError: true,
      },
    })

    const complaints = run(process.execPath, [compiler, '-p', name], project)

    expect(complaints).toBe('')
    for (const file of readdirSync(join(project, name, 'out'))) {
      if (file.endsWith('js')) run(process.execPath, [join(name, 'out', file)], project)
    }
  })
})

// Each has `test`, and `equal` of Node: the kit needs nothing of a runner.
const suite = (imports: string): string => `
  import assert from 'node:assert/strict'
  ${imports}
  import { activity, workflow } from 'holdfast'
  import { crashEverywhere, openTest, stub } from 'holdfast/testing'

  const mail = activity('mail')
  const nap = workflow('nap', async (to, ctx) => {
    await ctx.sleep('30d')
    return ctx.run(mail, to)
  })
  const options = () => ({ register: nap, stubs: [stub(mail, (to) => 'sent to ' + to)] })

  test('a nap of a month', async () => {
    const t = await openTest(options())
    try {
      assert.equal(await t.run(nap, 'kim'), 'sent to kim')
      assert.equal(t.now().toISOString(), '2030-01-31T00:00:00.000Z')
    } finally {
      await t.close()
    }
  })

  test('whatever crashes', async () => {
    const { runs } = await crashEverywhere(() => ({
      ...options(),
      scenario: (t) => t.run(nap, 'kim'),
    }))
    assert.ok(runs > 3)
  })`

describe('the testing kit', () => {
  beforeAll(() => {
    linkDriver()
    mkdirSync(join(project, 'kit'))
  })

  test('runs in node:test', () => {
    writeFileSync(join(project, 'kit/node.test.mjs'), suite(`import { test } from 'node:test'`))

    const printed = run(process.execPath, ['--test', 'kit/node.test.mjs'], project)

    expect(printed).toMatch(/pass 2/)
  })

  test('runs in Vitest', () => {
    writeFileSync(join(project, 'kit/vitest.test.mjs'), suite(`import { test } from 'vitest'`))
    symlinkSync(join(ROOT, 'node_modules/vitest'), join(project, 'node_modules/vitest'))
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')

    const printed = run(process.execPath, [vitest, 'run', 'kit/vitest.test.mjs'], project)

    expect(printed).toMatch(/2 passed/)
  })

  test('runs in Jest', () => {
    writeFileSync(join(project, 'kit/jest.test.js'), suite(''))
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js')

    // Jest reads ES modules with this flag only.
    const args = ['--experimental-vm-modules', jest, '--json', 'kit/jest.test.js']
    const printed = run(process.execPath, args, project)

    expect(JSON.parse(printed)).toMatchObject({ numPassedTests: 2 })
  })
})

function linkDriver(): void {
  const driver = join(project, 'node_modules/better-sqlite3')
  if (!existsSync(driver)) symlinkSync(join(ROOT, 'node_modules/better-sqlite3'), driver)
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly name: string
  readonly version: string
  readonly description: string
  readonly keywords: readonly string[]
  readonly exports: Readonly<Record<string, unknown>>
}

function tarball(): string {
  const found = readdirSync(folder).find((name) => name.endsWith('.tgz'))
  return join(folder, found!)
}

/** What the package holds once installed: paths with `/`, sorted. */
function files(): string[] {
  return readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
    .map((file) => file.split(sep).join('/'))
    .toSorted()
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(join(project, path), JSON.stringify(value, null, 2))
}

/** The command's output. Throws when it fails, with all it printed. */
function run(command: string, args: readonly string[], cwd: string): string {
  // Settings that npm and Vitest hand to their children are meant for this repository, not for the consumer's.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^VITEST|^NODE_ENV$/i.test(name)),
  )
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  if (error) throw error
  if (status !== 0) throw new Error(`${basename(command)} ${args.join(' ')}\n${stdout}${stderr}`)
  return stdout
}
