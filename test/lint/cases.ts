// Code that each rule finds, and code that it must let pass. All of it is JavaScript, so that both linters
// read it; cases with types are at the end, for the linter that reads TypeScript by itself.

/** A file, and the rules that it breaks. */
export interface LintCase {
  readonly title: string
  readonly code: string
  /** The messages expected, each with the rule before it. */
  readonly finds: readonly string[]
}

const HEAD = `import { activity, workflow } from 'holdfast'\n`

/** A workflow with this body. */
function body(code: string, imports = ''): string {
  return `${imports}${HEAD}export const w = workflow('w', async (input, ctx) => {\n${code}\n})\n`
}

function invalid(rule: string, message: string, code: string, imports = ''): LintCase {
  return { title: `${rule}: ${code}`, code: body(code, imports), finds: [`${rule}: ${message}`] }
}

function valid(code: string, imports = ''): LintCase {
  return { title: code, code: body(code, imports), finds: [] }
}

function file(title: string, code: string, ...finds: readonly string[]): LintCase {
  return { title, code: HEAD + code, finds }
}

const CLOCK = 'It gives a different value on replay; use ctx.now() instead.'
const RANDOM = 'It gives a different value on replay; use ctx.random() or ctx.uuid() instead.'
const SLEEP = 'It cannot be replayed; use ctx.sleep().'
const STEP = 'It cannot be replayed; use ctx.step() or an activity.'
const ENVIRONMENT = 'It may differ on replay, in another process or after a deployment;'
const no = (called: string, advice: string): string =>
  `${called} must not be ${called.endsWith(')') ? 'called' : 'used'} in workflow code. ${advice}`

export const INVALID: readonly LintCase[] = [
  invalid('no-clock', no('Date.now()', CLOCK), 'return Date.now()'),
  invalid('no-clock', no('new Date()', CLOCK), 'return new Date()'),
  invalid('no-clock', no('Date()', CLOCK), 'return Date()'),
  invalid('no-clock', no('performance.now()', CLOCK), 'return performance.now()'),
  invalid('no-clock', no('Date.now()', CLOCK), 'return globalThis.Date.now()'),
  invalid('no-clock', no('process.hrtime.bigint()', CLOCK), 'return process.hrtime.bigint()'),
  invalid(
    'no-clock',
    no('performance.now()', CLOCK),
    'return performance.now()',
    `import { performance } from 'node:perf_hooks'\n`,
  ),
  invalid('no-random', no('Math.random()', RANDOM), 'if (Math.random() > 0.5) return 1'),
  invalid('no-random', no('crypto.randomUUID()', RANDOM), 'return crypto.randomUUID()'),
  invalid(
    'no-random',
    no('crypto.getRandomValues()', RANDOM),
    'return crypto.getRandomValues(new Uint8Array(4))',
  ),
  invalid(
    'no-random',
    no('crypto.randomUUID()', RANDOM),
    'return randomUUID()',
    `import { randomUUID } from 'node:crypto'\n`,
  ),
  invalid(
    'no-random',
    no('crypto.randomBytes()', RANDOM),
    'return crypto.randomBytes(8)',
    `import crypto from 'crypto'\n`,
  ),
  invalid('no-random', no('v4()', RANDOM), 'return uuid()', `import { v4 as uuid } from 'uuid'\n`),
  invalid('no-timers', no('setTimeout()', SLEEP), 'await new Promise((r) => setTimeout(r, 9))'),
  invalid(
    'no-timers',
    no('setInterval()', 'It cannot be replayed; use ctx.sleep() in a loop.'),
    'setInterval(() => {}, 9)',
  ),
  invalid(
    'no-timers',
    no('setImmediate()', 'It cannot be replayed; use ctx.sleep(0).'),
    'await new Promise(setImmediate(() => {}))',
  ),
  invalid(
    'no-timers',
    no('setTimeout()', SLEEP),
    'await delay(100)',
    `import { setTimeout as delay } from 'node:timers/promises'\n`,
  ),
  invalid(
    'no-timers',
    no('setTimeout()', SLEEP),
    'await timers.setTimeout(100)',
    `import * as timers from 'timers/promises'\n`,
  ),
  invalid('no-timers', no('AbortSignal.timeout()', SLEEP), 'return AbortSignal.timeout(9)'),
  invalid('no-io', no('fetch()', STEP), `return fetch('https://example.com')`),
  invalid('no-io', no('new WebSocket()', STEP), `return new WebSocket('wss://example.com')`),
  invalid(
    'no-io',
    no('fs.readFileSync()', STEP),
    `return readFileSync('a')`,
    `import { readFileSync } from 'node:fs'\n`,
  ),
  invalid(
    'no-io',
    no('fs.promises.readFile()', STEP),
    `return fs.promises.readFile('a')`,
    `import fs from 'fs'\n`,
  ),
  invalid(
    'no-io',
    no('http.get()', STEP),
    `http.get('http://example.com')`,
    `const http = require('http')\n`,
  ),
  invalid(
    'no-io',
    no('child_process.execFileSync()', STEP),
    `run('ls')`,
    `const { execFileSync: run } = require('node:child_process')\n`,
  ),
  invalid('no-environment', no('process.env', ENVIRONMENT), 'return process.env.REGION'),
  invalid('no-environment', no('process.pid', ENVIRONMENT), 'return process.pid'),
  invalid(
    'no-environment',
    no('process.env', ENVIRONMENT),
    `return env['REGION']`,
    `import { env } from 'node:process'\n`,
  ),
  invalid(
    'no-environment',
    no('process.env', ENVIRONMENT),
    'return process.env.REGION',
    `import process from 'node:process'\n`,
  ),
  invalid(
    'no-environment',
    no('os.hostname()', ENVIRONMENT),
    'return hostname()',
    `import { hostname } from 'node:os'\n`,
  ),
  invalid(
    'no-native-race',
    no('Promise.race()', 'The calls that lose stay open'),
    'return Promise.race([ctx.sleep(1), ctx.receive(input)])',
  ),
  invalid(
    'no-native-race',
    no('Promise.any()', 'The calls that lose stay open'),
    'return await Promise.any([ctx.run(input)])',
  ),
  invalid(
    'no-module-state',
    '"count" of the module must not be changed in workflow code. It is shared by all instances',
    'count++',
    'let count = 0\n',
  ),
  invalid(
    'no-module-state',
    '"cache" of the module',
    'cache ??= await ctx.run(input)',
    'let cache\n',
  ),
  invalid(
    'no-module-state',
    '"seen" of the module',
    'seen.set(input, true)',
    'const seen = new Map()\n',
  ),
  invalid('no-module-state', '"all" of the module', 'all.push(input)', 'const all = []\n'),
  invalid('no-module-state', '"last" of the module', 'last.input = input', 'const last = {}\n'),
  invalid('no-module-state', '"last" of the module', 'delete last.input', 'const last = {}\n'),
  invalid(
    'no-forgotten-await',
    'ctx.run() is not awaited. The workflow may end before it, and then it is cancelled and may never run;',
    'ctx.run(input)',
  ),
  invalid('no-forgotten-await', 'ctx.sleep() is not awaited.', `void ctx.sleep('1h')`),
  invalid('no-forgotten-await', 'ctx.step() is not awaited.', `const a = ctx.step('a', () => 1)`),
  invalid(
    'no-forgotten-await',
    'inner.run() is not awaited.',
    'await ctx.scope(async (inner) => { inner.run(input) })',
  ),
  invalid(
    'no-forgotten-await',
    'each.run() is not awaited.',
    'await ctx.map([1], async (item, each) => { each.run(input) })',
  ),
  ...[
    'ctx.run(input).catch(() => {})',
    'void ctx.run(input).then((a) => a).finally(() => {})',
    'input && ctx.run(input)',
    'input ?? ctx.run(input)',
    'input ? ctx.run(input) : 1',
    'Promise.all([ctx.run(input), 1])',
    'Promise.allSettled([ctx.run(input)]).then(() => {})',
    'let p\np = ctx.run(input)',
  ].map((code) => invalid('no-forgotten-await', 'ctx.run() is not awaited.', code)),
  invalid('no-forgotten-await', 'c.run() is not awaited.', 'const c = ctx\nc.run(input)'),
  invalid('no-clock', no('Date.now()', CLOCK), 'return now()', 'const { now } = Date\n'),
  invalid('no-clock', no('new Date()', CLOCK), 'return new D()', 'const D = Date\n'),
  invalid('no-clock', no('Date.now()', CLOCK), 'const time = Date.now\nreturn time()'),
  invalid(
    'no-random',
    no('Math.random()', RANDOM),
    'return any()',
    'const { random: any } = Math\n',
  ),
  invalid(
    'no-environment',
    no('process.env', ENVIRONMENT),
    `return env['HOME']`,
    'const { env } = process\n',
  ),
  invalid(
    'no-io',
    no('fs.readFileSync()', STEP),
    `const fs = await import('node:fs')\nreturn fs.readFileSync('x')`,
  ),
  invalid(
    'no-forgotten-await',
    'later() is not awaited. The workflow may end before it,',
    `const later = async () => { await ctx.run(input); await ctx.run(input) }\nlater()\nawait ctx.sleep(1)`,
  ),
  invalid(
    'no-forgotten-await',
    'An async function is not awaited.',
    `const unread = (async () => { await outer() })()\nasync function outer() { await ctx.sleep(1) }`,
  ),
  invalid(
    'no-forgotten-await',
    'forEach() does not await its async callback.',
    '[1, 2].forEach(async (one) => { await ctx.run(one) })',
  ),
  invalid(
    'no-forgotten-await',
    'forEach() does not await its callback. The workflow may end before it,',
    'input.forEach((one) => ctx.run(one))',
  ),
  invalid(
    'no-forgotten-await',
    'forEach() does not await its callback.',
    'const send = (one) => ctx.run(one)\ninput?.forEach(send)',
  ),
  ...[
    'input.map((one) => ctx.run(one))',
    'input.map(async (one) => { await ctx.run(one) })',
    'const calls = input.map((one) => ctx.run(one))',
    'input.map((one) => { if (one) return ctx.run(one).then(() => 1) })',
    'void Promise.all(input.map((one) => ctx.run(one)))',
    'Promise.allSettled(input.map((one) => ctx.run(one))).catch(() => {})',
    'const all = () => input.map((one) => ctx.run(one))\ninput.map(() => all())',
  ].map((code) => invalid('no-forgotten-await', 'What map() returns is not awaited.', code)),
  invalid(
    'no-forgotten-await',
    'What flatMap() returns is not awaited. The workflow may end before it, and then the rest of it never runs; use ctx.map().',
    'input.flatMap((one) => [1].map(() => ctx.run(one)))',
  ),
  file(
    'functions of the file that return a call of the ctx and are not async',
    `workflow('w', async (input, ctx) => { send(ctx, 1); void again(ctx); await send(ctx, 1); (() => ctx.sleep(1))() })
     const send = (c, n) => c.run(n).catch(() => {})
     function again(c) { for (;;) { if (c) return send(c, 2) } }`,
    'no-forgotten-await: send() is not awaited. The workflow may end before it,',
    'no-forgotten-await: again() is not awaited.',
    'no-forgotten-await: A function is not awaited.',
  ),
  ...(
    [
      [
        'pool.query()',
        `await pool.query('select 1')`,
        `import { Pool } from 'pg'\nconst pool = new Pool()\n`,
      ],
      [
        'redis.get()',
        `await redis.get('a')`,
        `import { createClient } from 'redis'\nconst redis = await createClient().on('error', input).connect()\n`,
      ],
      [
        'api.get()',
        `await api.get('/a')`,
        `import axios from 'axios'\nconst api = axios.create()\n`,
      ],
      [
        'sql()',
        'await sql`select 1`',
        `import postgres from 'postgres'\nconst sql = postgres('x')\n`,
      ],
      [
        'db.users.find()',
        `db.users.find(1)`,
        `const Database = require('better-sqlite3')\nconst db = new Database('x')\n`,
      ],
    ] as const
  ).map(([called, code, imports]) => invalid('no-io', no(called, STEP), code, imports)),
  file(
    'an async function of the file that gets the ctx',
    `workflow('w', async (input, ctx) => { helper(ctx) })
     async function helper(c) { await c.run(1) }`,
    'no-forgotten-await: helper() is not awaited.',
  ),
  file(
    'a workflow with options, and one by another name',
    `import { workflow as define } from 'holdfast'
     workflow('a', { version: '2.0.0' }, async (input, ctx) => Date.now())
     define('b', async (input, ctx) => Math.random())`,
    'no-clock: Date.now()',
    'no-random: Math.random()',
  ),
  file(
    'a workflow by namespace, whose code has a name',
    `import * as holdfast from 'holdfast'
     async function run(input, ctx) { return Date.now() }
     const other = async (input, ctx) => Math.random()
     holdfast.workflow('a', run)
     workflow('b', other)`,
    'no-clock: Date.now()',
    'no-random: Math.random()',
  ),
  file(
    'a contract of this file, and one of another',
    `import { order } from './order.js'
     const pay = workflow('pay')
     pay.implement(async () => Date.now())
     order.implement(async (input, ctx) => { await ctx.sleep(1); return Math.random() })`,
    'no-clock: Date.now()',
    'no-random: Math.random()',
  ),
  file(
    'functions that a workflow calls, with ctx or without',
    `const w = workflow('w', async (input, ctx) => { stamp(); await helper(1, ctx); await late(ctx) })
     function stamp() { return Date.now() }
     const helper = async (n, context) => { context.run(n); return deeper() }
     const deeper = () => Math.random()
     async function late(c) { await inner(c) }
     async function inner(c) { c.sleep('1h') }`,
    'no-clock: Date.now()',
    'no-forgotten-await: context.run() is not awaited.',
    'no-random: Math.random()',
    'no-forgotten-await: c.sleep() is not awaited.',
  ),
  file(
    'branches of a race',
    `workflow('w', async (input, ctx) => {
       await ctx.race({ a: async (branch) => { branch.run(input) }, b: ctx.sleep(1) })
       await ctx.all([async (one) => { one.sleep(1) }])
       await ctx.saga(async (undo) => { undo(() => fetch('https://example.com')) })
     })`,
    'no-forgotten-await: branch.run() is not awaited.',
    'no-forgotten-await: one.sleep() is not awaited.',
    'no-io: fetch()',
  ),
]

export const VALID: readonly LintCase[] = [
  valid('return ctx.now()'),
  valid('return new Date(input)'),
  valid('return Date.UTC(2020, 1)'),
  valid('return Date.parse(input)'),
  valid(`return Math.max(1, 2) + ctx.random() + ctx.uuid()`),
  valid(`return createHash('sha256')`, `import { createHash } from 'node:crypto'\n`),
  valid('return v5(input)', `import { v5 } from 'uuid'\n`),
  valid('await ctx.sleep(1)\nawait ctx.sleepUntil(ctx.now())'),
  valid(`return await ctx.step('now', () => Date.now())`),
  valid(`return ctx.step('get', async ({ signal }) => (await fetch(input, { signal })).json())`),
  valid(
    `return ctx.step('read', () => readFileSync(process.env.FILE))`,
    `import { readFileSync } from 'node:fs'\n`,
  ),
  valid(`await ctx.scope(async (inner) => inner.step('x', () => Math.random()))`),
  valid(`return join('a', 'b')`, `import { join } from 'node:path'\n`),
  valid('return ctx.race({ a: ctx.sleep(1), b: ctx.run(input) })'),
  valid('return Promise.all([ctx.sleep(1), ctx.run(input)])'),
  valid('return Promise.allSettled([ctx.run(input)])'),
  valid('let count = 0\ncount++\nreturn count'),
  valid('const seen = new Map()\nseen.set(1, 2)\nreturn seen'),
  valid('return count', 'let count = 0\n'),
  valid('return settings.get(1)', 'const settings = new Map()\n'),
  valid('ctx.state.set(key, 1)', 'const key = {}\n'),
  valid('const a = ctx.run(input)\nawait ctx.sleep(1)\nreturn await a'),
  valid('const a = ctx.run(input)\na.cancel()'),
  valid('await ctx.start(input)\nctx.start(input)\nvoid ctx.get(input).send(input, 1)'),
  valid('ctx.progress(1)\nctx.log.info({}, input)\nreturn ctx.continueAsNew(1)'),
  valid(`void ctx.run(input, 1, { onParentClose: 'abandon' })`),
  valid('return ctx.run(input).then((a) => a + 1)'),
  valid('const Date = { now: () => 1 }\nreturn Date.now()'),
  valid('const Date = Date\nreturn Date.now()'),
  valid('let p\np = ctx.run(input)\nreturn p'),
  valid('const a = input && ctx.run(input)\nreturn Promise.all([a])'),
  valid('const later = async () => ctx.run(input)\nawait later()\nreturn later()'),
  valid('const note = async () => { ctx.progress(1) }\nnote()'),
  valid(
    'const listen = async () => { for (;;) await ctx.receive(input) }\nvoid listen()\nawait ctx.sleep(1)',
  ),
  valid('const sum = () => 1\nsum()\n;[1].forEach((one) => { ctx.progress(one) })'),
  valid('await Promise.all(input.map((one) => ctx.run(one)))'),
  valid('const calls = input.map((one) => ctx.run(one))\nreturn Promise.all(calls)'),
  valid(
    'const calls = []\ninput.forEach((one) => calls.push(ctx.run(one)))\nawait Promise.all(calls)',
  ),
  valid('input.forEach((one) => ctx.start(one))\ninput.map((one) => ctx.progress(one))'),
  valid('input.forEach((one) => { ctx.run(one).cancel() })'),
  valid('const send = (one) => ctx.run(one)\nawait send(1)\nreturn input.map(send)'),
  valid(
    'let last\nconst keep = (one) => (last = ctx.run(one))\nkeep(1)\nconst begin = () => { const call = ctx.run(1); input.push(call); return call }\nbegin()\nawait last',
  ),
  valid('function* lazy() { return ctx.run(1) }\nlazy()'),
  valid('const again = (n) => again(n - 1)\nagain(1)'),
  valid('return net.isIP(input) + net.isIPv4(input)', `import net from 'node:net'\n`),
  valid('return isIPv6(input)', `import { isIPv6 } from 'node:net'\n`),
  valid(
    'return template.replace(input, rows.map(String))',
    `import { readFileSync } from 'node:fs'\nimport Database from 'better-sqlite3'\nconst template = readFileSync('a', 'utf8')\nconst rows = new Database('b').prepare('c').all()\n`,
  ),
  valid(
    `return ctx.step('query', () => pool.query('select 1'))`,
    `import { Pool } from 'pg'\nconst pool = new Pool()\n`,
  ),
  valid('return fetch(input)', 'const fetch = (x) => x\n'),
  valid('return crypto.subtle'),
  file(
    'code that is no workflow',
    `export const t = Date.now() + Math.random()\nsetTimeout(() => {}, process.env.X)`,
  ),
  file('an activity', `activity('a', async () => fetch(String(Date.now())))`),
  file(
    'an activity inside a workflow',
    `workflow('w', async (input, ctx) => ctx.run(activity('a', () => Date.now()), 1))`,
  ),
  file(
    'contracts of activities, of this file and of another',
    `import { pay } from './pay.js'
     const mail = activity('mail')
     mail.implement(async (input, ctx) => Date.now())
     pay.implement(async (input, ctx) => { ctx.heartbeat(); return Date.now() })`,
  ),
  {
    title: 'a function of another package that is called workflow',
    code: `import { workflow } from 'other-package'\nworkflow('w', async (input, ctx) => Date.now())\n`,
    finds: [],
  },
  file(
    'a function that nothing of a workflow calls',
    `export const stamp = () => Date.now()\nworkflow('w', async () => 1)`,
  ),
]

/** Only for linters that read TypeScript. */
export const TYPED: readonly LintCase[] = [
  file(
    'a helper with a parameter of type WorkflowContext',
    `import type { WorkflowContext } from 'holdfast'
     export async function helper(n: number, ctx: WorkflowContext): Promise<number> {
       ctx.run(n as never)
       return Date.now() + n
     }
     export const other = (ctx: WorkflowContext<string>) => Math.random()`,
    'no-forgotten-await: ctx.run() is not awaited.',
    'no-clock: Date.now()',
    'no-random: Math.random()',
  ),
  file(
    'assertions around a call',
    `export const w = workflow('w', async (input: number, ctx) => (Date.now() as number) + input!)`,
    'no-clock: Date.now()',
  ),
  file(
    'types that name what is forbidden',
    `export const w = workflow('w', async (timer: ReturnType<typeof setTimeout> | typeof process.env, ctx) => {
       await ctx.sleep('1s')
       return timer as unknown as Date
     })`,
  ),
]
