// What a name in the code stands for: a global, something imported, or something of the file.

import { bare, isFunction, member, members, nameOf, type Node, propertyOf, text } from './ast.ts'
import type { SourceCode, Variable } from './ast.ts'

/** The variable that an identifier names; `undefined` for a global that the file does not declare. */
export function variableOf(source: SourceCode, identifier: Node): Variable | undefined {
  const name = nameOf(identifier)
  if (name === undefined) return undefined
  for (let scope = orNull(source.getScope(identifier)); scope !== null; scope = scope.upper) {
    const found = scope.set.get(name)
    // A global that the configuration names has no definition.
    if (found !== undefined) return found.defs.length > 0 ? found : undefined
  }
  return undefined
}

function orNull<T>(value: T): T | null {
  return value
}

/** What an expression refers to. */
export interface Reference {
  /** The module it comes from, without `node:`; empty for a global. */
  readonly module: string
  /** Its name there, such as `readFile` or `promises.readFile`; empty for the module itself. */
  readonly path: string
}

// A constant may stand for another one. One that stands for itself would never end.
const MAX_ALIASES = 10

/** What a name, or a chain of members, refers to outside the file; `undefined` for anything else. */
export function referenceOf(
  source: SourceCode,
  given: Node | undefined,
  aliases = 0,
): Reference | undefined {
  const node = bare(given)
  if (node === undefined || aliases > MAX_ALIASES) return undefined
  if (node.type === 'MemberExpression') {
    return memberOf(referenceOf(source, member(node, 'object'), aliases), propertyOf(node))
  }
  const name = nameOf(node)
  if (name === undefined) return undefined
  const variable = variableOf(source, node)
  return variable === undefined ? { module: '', path: name } : importOf(source, variable, aliases)
}

function memberOf(
  object: Reference | undefined,
  property: string | undefined,
): Reference | undefined {
  if (property === undefined || object === undefined) return undefined
  const isWhole = object.path === '' || object.path === 'default'
  // `globalThis.fetch` is `fetch`.
  const isGlobal = object.module === '' && GLOBAL_OBJECTS.has(object.path)
  return {
    module: object.module,
    path: isWhole || isGlobal ? property : `${object.path}.${property}`,
  }
}

const GLOBAL_OBJECTS = new Set(['globalThis', 'global', 'window', 'self'])

function importOf(source: SourceCode, variable: Variable, aliases: number): Reference | undefined {
  const [definition] = variable.defs
  if (definition?.type === 'ImportBinding') {
    const module = text(member(definition.parent ?? undefined, 'source'), 'value') ?? ''
    const imported = member(definition.node, 'imported')
    const path =
      definition.node.type === 'ImportSpecifier'
        ? (nameOf(imported) ?? text(imported, 'value') ?? '')
        : definition.node.type === 'ImportDefaultSpecifier'
          ? 'default'
          : ''
    return { module: withoutScheme(module), path }
  }
  if (definition?.type !== 'Variable') return undefined
  if (text(definition.parent ?? undefined, 'kind') !== 'const') {
    return requiredBy(source, definition.node, variable)
  }
  return (
    requiredBy(source, definition.node, variable) ??
    aliasedBy(source, definition.node, variable, aliases)
  )
}

/** `const D = Date`, and `const { now } = Date`. */
function aliasedBy(
  source: SourceCode,
  declarator: Node,
  variable: Variable,
  aliases: number,
): Reference | undefined {
  const of = referenceOf(source, member(declarator, 'init'), aliases + 1)
  const pattern = member(declarator, 'id')
  return nameOf(pattern) === undefined ? memberOf(of, keyIn(pattern, variable)) : of
}

/** The key that a pattern such as `{ key: name }` takes a variable from. */
function keyIn(pattern: Node | undefined, { name }: Variable): string | undefined {
  const own = members(pattern, 'properties').find(
    (property) => nameOf(member(property, 'value')) === name,
  )
  return own && nameOf(member(own, 'key'))
}

/** `const fs = require('fs')`, `const fs = await import('fs')`, and `const { readFile } = require('fs')`. */
function requiredBy(
  source: SourceCode,
  declarator: Node,
  variable: Variable,
): Reference | undefined {
  const call = bare(member(declarator, 'init'))
  const module = call && moduleOf(source, call)
  if (module === undefined) return undefined
  const pattern = member(declarator, 'id')
  if (nameOf(pattern) !== undefined) return { module: withoutScheme(module), path: '' }
  const key = keyIn(pattern, variable)
  return key === undefined ? undefined : { module: withoutScheme(module), path: key }
}

/** The module that a call loads. */
function moduleOf(source: SourceCode, call: Node): string | undefined {
  if (call.type === 'ImportExpression') return text(member(call, 'source'), 'value')
  const callee = member(call, 'callee')
  if (call.type !== 'CallExpression' || callee === undefined || nameOf(callee) !== 'require') {
    return undefined
  }
  return variableOf(source, callee) === undefined ? text(argumentsOf(call)[0], 'value') : undefined
}

function withoutScheme(module: string): string {
  return module.startsWith('node:') ? module.slice('node:'.length) : module
}

/** The arguments of a call. */
export function argumentsOf(call: Node): readonly Node[] {
  const given = (call as unknown as { arguments?: readonly Node[] }).arguments
  return given ?? []
}

/** The function of this file that an expression names, or is. */
export function functionOf(source: SourceCode, given: Node | undefined): Node | undefined {
  const node = bare(given)
  if (isFunction(node)) return node
  if (node === undefined || nameOf(node) === undefined) return undefined
  const [definition] = variableOf(source, node)?.defs ?? []
  if (definition?.type === 'FunctionName') return definition.node
  const init = definition?.type === 'Variable' ? bare(member(definition.node, 'init')) : undefined
  return isFunction(init) ? init : undefined
}

/** Whether a name is declared outside all functions of the file. */
export function isOfModule({ scope }: Variable): boolean {
  if (scope.type === 'module' || scope.type === 'global') return true
  // Linters read CommonJS as what it is: the body of a function.
  return scope.type === 'function' && scope.block.type === 'Program'
}

/** Whether an expression is not a plain value: its members can be changed. */
export function isContainer(node: Node | undefined): boolean {
  const made = bare(node)
  if (made?.type === 'ArrayExpression' || made?.type === 'ObjectExpression') return true
  const callee = nameOf(member(made, 'callee'))
  return made?.type === 'NewExpression' && callee !== undefined && CONTAINERS.has(callee)
}

const CONTAINERS = new Set(['Array', 'Map', 'Set', 'WeakMap', 'WeakSet'])

/** The name at the root of a chain of members: `a` of `a.b.c`. */
export function rootOf(given: Node | undefined): Node | undefined {
  let node = bare(given)
  while (node?.type === 'MemberExpression') node = bare(member(node, 'object'))
  return node
}
