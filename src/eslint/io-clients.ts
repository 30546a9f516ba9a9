import { UNREPEATABLE } from '../base/unrepeatable.ts'
import { bare, member, nameOf, type Node, propertyOf, type SourceCode, text } from './ast.ts'
import { isOfModule, type Reference, referenceOf, rootOf, variableOf } from './names.ts'
import { type Problem, reachesOutside } from './unrepeatable-calls.ts'

/** Calls of clients that the module has made, such as `pool.query()` after `const pool = new Pool()`. */
export function clientCalls(source: SourceCode, nodes: readonly Node[]): Problem[] {
  return nodes.flatMap((node) => {
    const callee = calleeOf(node)
    if (callee === undefined || !isClient(source, rootOf(callee))) return []
    const message = `${pathOf(callee)}() must not be called in workflow code. ${UNREPEATABLE.io}.`
    return [{ node, message }]
  })
}

/** What is called, also as the tag of a template. */
function calleeOf(node: Node): Node | undefined {
  if (node.type === 'CallExpression') return bare(member(node, 'callee'))
  return node.type === 'TaggedTemplateExpression' ? bare(member(node, 'tag')) : undefined
}

function isClient(source: SourceCode, root: Node | undefined): boolean {
  const variable = root && variableOf(source, root)
  if (variable === undefined || !isOfModule(variable)) return false
  const [definition] = variable.defs
  if (definition?.type !== 'Variable' || nameOf(member(definition.node, 'id')) === undefined) {
    return false
  }
  if (text(definition.parent ?? undefined, 'kind') !== 'const') return false
  return makesClient(source, bare(member(definition.node, 'init')))
}

/** Whether an expression makes a client. What a client or a module has read, such as a file, is none. */
function makesClient(source: SourceCode, made: Node | undefined): boolean {
  const callee = bare(member(made, 'callee'))
  const reference = referenceOf(source, callee)
  if (made?.type === 'NewExpression') return reference !== undefined && reachesOutside(reference)
  if (made?.type !== 'CallExpression') return false
  if (reference !== undefined) return reachesOutside(reference) && isFactory(reference)
  // `await createClient().connect()`
  return RETURN_CLIENT.has(propertyOf(callee) ?? '')
    ? makesClient(source, bare(member(callee, 'object')))
    : false
}

const RETURN_CLIENT = new Set(['connect', 'on', 'once'])

function isFactory({ module, path }: Reference): boolean {
  if (path === '' || path === 'default') return FACTORIES.has(module)
  return /(?:^|\.)(?:create|connect|extend)/.test(path)
}

/** Packages that are a function which makes a client. */
const FACTORIES = new Set(['better-sqlite3', 'postgres'])

/** A chain of members as it is written, as far as it has names. */
function pathOf(node: Node | undefined): string {
  if (node?.type !== 'MemberExpression') return nameOf(node) ?? ''
  return `${pathOf(bare(member(node, 'object')))}.${propertyOf(node) ?? '…'}`
}
