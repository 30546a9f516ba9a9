// Calls whose result or effect a replay cannot repeat.

import { UNREPEATABLE } from '../base/unrepeatable.ts'
import { bare, member, nameOf, type Node, type SourceCode } from './ast.ts'
import { argumentsOf, type Reference, referenceOf } from './names.ts'

/** A problem in workflow code. */
export interface Problem {
  readonly node: Node
  readonly message: string
}

/** Whether a call or a member is one that a rule forbids: what it is called, and the advice. */
type Judge = (
  reference: Reference,
  node: Node,
) => { readonly called: string; readonly advice: string } | undefined

/** `Date.now()`, `new Date()`, `performance.now()`, `process.hrtime()`. */
export const clock: Judge = ({ module, path }, node) => {
  const advice = UNREPEATABLE.clock
  if (module === '' && path === 'Date' && node.type !== 'MemberExpression') {
    if (node.type === 'CallExpression') return { called: 'Date()', advice }
    return argumentsOf(node).length === 0 ? { called: 'new Date()', advice } : undefined
  }
  if (node.type !== 'CallExpression') return undefined
  if (module === '' && CLOCKS.has(path)) return { called: `${path}()`, advice }
  if (module === 'perf_hooks' && path === 'performance.now') return { called: `${path}()`, advice }
  if (module === 'process' && /^hrtime(\.bigint)?$/.test(path)) {
    return { called: `process.${path}()`, advice }
  }
  return undefined
}

const CLOCKS = new Set([
  'Date.now',
  'performance.now',
  'process.hrtime',
  'process.hrtime.bigint',
  'process.uptime',
])

/** `Math.random()`, `crypto.randomUUID()`, `crypto.getRandomValues()`, and packages for ids. */
export const random: Judge = ({ module, path }, node) => {
  if (node.type !== 'CallExpression') return undefined
  const name = path.replace(/^(?:webcrypto|default)\./, '')
  const isRandom =
    module === ''
      ? path === 'Math.random' || (path.startsWith('crypto.') && isCryptoRandom(path.slice(7)))
      : module === 'crypto'
        ? isCryptoRandom(name)
        : module === 'uuid'
          ? /^(?:v1|v4|v6|v7)$/.test(name)
          : ID_PACKAGES.has(module)
  const called = `${module === 'crypto' ? `crypto.${name}` : path === 'default' ? module : path}()`
  return isRandom ? { called, advice: UNREPEATABLE.random } : undefined
}

function isCryptoRandom(name: string): boolean {
  return /^(?:getRandomValues|random[A-Z]\w*|generateKey\w*)$/.test(name)
}

const ID_PACKAGES = new Set(['nanoid', 'ulid', 'cuid', '@paralleldrive/cuid2', 'ksuid'])

/** `setTimeout` and its kin, `timers/promises`, `AbortSignal.timeout`. */
export const timers: Judge = ({ module, path }, node) => {
  if (node.type !== 'CallExpression') return undefined
  const isOfNode = module === 'timers' || module === 'timers/promises'
  if (module !== '' && !isOfNode) return undefined
  const name = isOfNode ? path.replace(/^(?:promises|scheduler|default)\./, '') : path
  switch (name) {
    case 'setTimeout':
    case 'setInterval':
    case 'setImmediate':
      return { called: `${name}()`, advice: UNREPEATABLE[name] }
    case 'wait':
    case 'yield':
      return isOfNode
        ? { called: `scheduler.${name}()`, advice: UNREPEATABLE.setTimeout }
        : undefined
    case 'process.nextTick':
    case 'AbortSignal.timeout':
      return isOfNode
        ? undefined
        : {
            called: `${name}()`,
            advice:
              name === 'process.nextTick' ? UNREPEATABLE.setImmediate : UNREPEATABLE.setTimeout,
          }
    default:
      return undefined
  }
}

/** `fetch`, and what reaches outside the process by a module. */
export const io: Judge = ({ module, path }, node) => {
  const advice = UNREPEATABLE.io
  if (node.type === 'MemberExpression') return undefined
  if (module === '') {
    const isNew = node.type === 'NewExpression'
    if (!isNew && path === 'fetch') return { called: 'fetch()', advice }
    return isNew && SOCKETS.has(path) ? { called: `new ${path}()`, advice } : undefined
  }
  if (!reachesOutside({ module, path })) return undefined
  const name = path === '' || path === 'default' ? module : `${module}.${path}`
  return { called: `${node.type === 'NewExpression' ? 'new ' : ''}${name}()`, advice }
}

/** Whether what a module exports by this name does I/O. */
export function reachesOutside({ module, path }: Reference): boolean {
  return IO_MODULES.has(module) && !(module === 'net' && /^isIP(?:v4|v6)?$/.test(path))
}

const SOCKETS = new Set(['XMLHttpRequest', 'WebSocket', 'EventSource'])

const IO_MODULES = new Set([
  'child_process',
  'cluster',
  'dgram',
  'dns',
  'dns/promises',
  'fs',
  'fs/promises',
  'http',
  'http2',
  'https',
  'net',
  'readline',
  'readline/promises',
  'sqlite',
  'tls',
  'worker_threads',
  // Packages that do nothing else.
  'axios',
  'better-sqlite3',
  'got',
  'ioredis',
  'ky',
  'mongodb',
  'mysql2',
  'mysql2/promise',
  'node-fetch',
  'nodemailer',
  'pg',
  'postgres',
  'redis',
  'undici',
])

/** `process.env` and what else differs between processes. */
export const environment: Judge = ({ module, path }, node) => {
  const advice = UNREPEATABLE.environment
  if (module === 'os' && node.type === 'CallExpression') return { called: `os.${path}()`, advice }
  if (module !== 'process' && (module !== '' || !path.startsWith('process.'))) return undefined
  const name = module === '' ? path.slice('process.'.length) : path
  if (node.type === 'CallExpression') {
    return name === 'cwd' ? { called: 'process.cwd()', advice } : undefined
  }
  if (node.type !== 'MemberExpression') return undefined
  // `env.A`, where `env` is imported or a constant: there is no other member to report.
  const [setting = '', ...rest] = name.split('.')
  const isNamed = nameOf(member(node, 'object')) !== undefined && rest.length === 1
  if (rest.length > 0 && !isNamed) return undefined
  return SETTINGS.has(setting) ? { called: `process.${setting}`, advice } : undefined
}

const SETTINGS = new Set(['env', 'argv', 'pid', 'ppid', 'platform', 'arch'])

/** `Promise.race()` and `Promise.any()`. */
export const nativeRace: Judge = ({ module, path }, node) => {
  if (module !== '' || node.type !== 'CallExpression') return undefined
  if (path !== 'Promise.race' && path !== 'Promise.any') return undefined
  return { called: `${path}()`, advice: UNREPEATABLE.race }
}

/** The calls of workflow code that a judge forbids. */
export function forbidden(judge: Judge) {
  return (source: SourceCode, nodes: readonly Node[]): Problem[] =>
    nodes.flatMap((node) => {
      const reference = REFERRING.has(node.type) ? referenceOf(source, referring(node)) : undefined
      const found = reference && judge(reference, node)
      if (found === undefined) return []
      const verb = found.called.endsWith(')') ? 'called' : 'used'
      return [
        { node, message: `${found.called} must not be ${verb} in workflow code. ${found.advice}.` },
      ]
    })
}

const REFERRING = new Set(['CallExpression', 'NewExpression', 'MemberExpression'])

function referring(node: Node): Node | undefined {
  if (node.type === 'MemberExpression') return node
  const callee = bare(member(node, 'callee'))
  return callee?.type === 'MemberExpression' || nameOf(callee) !== undefined ? callee : undefined
}
