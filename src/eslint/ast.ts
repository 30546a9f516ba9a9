// The little of a linter that the rules use, declared here so that our declarations need no types of a
// linter. ESLint and oxlint both provide it.

/** A node of the syntax tree. */
export interface Node {
  readonly type: string
  readonly parent?: Node
  readonly range?: readonly [number, number]
}

/** Where names are declared. */
export interface Scope {
  readonly type: string
  readonly block: Node
  readonly upper: Scope | null
  readonly set: ReadonlyMap<string, Variable>
}

/** A declared name. */
export interface Variable {
  readonly name: string
  readonly scope: Scope
  readonly defs: readonly {
    readonly type: string
    readonly node: Node
    readonly parent?: Node | null
  }[]
  readonly references: readonly { readonly identifier: Node; isRead(): boolean }[]
}

/** A file that is linted. */
export interface SourceCode {
  readonly ast: Node
  getScope(node: Node): Scope
}

/** What a rule gets. */
export interface RuleContext {
  readonly sourceCode: SourceCode
  report(problem: { readonly node: Node; readonly message: string }): void
}

/** A member of a node that is a node itself, or `undefined`. */
export function member(node: Node | undefined, key: string): Node | undefined {
  const value = node && (node as unknown as Record<string, unknown>)[key]
  return isNode(value) ? value : undefined
}

/** A member of a node that is a list of nodes; holes are left out. */
export function members(node: Node | undefined, key: string): readonly Node[] {
  const value = node && (node as unknown as Record<string, unknown>)[key]
  return Array.isArray(value) ? value.filter(isNode) : []
}

/** A member of a node that is text, or `undefined`. */
export function text(node: Node | undefined, key: string): string | undefined {
  const value = node && (node as unknown as Record<string, unknown>)[key]
  return typeof value === 'string' ? value : undefined
}

/** Whether a member of a node is true. */
export function flag(node: Node, key: string): boolean {
  return (node as unknown as Record<string, unknown>)[key] === true
}

/** The name of an identifier; `undefined` for any other node. */
export function nameOf(node: Node | undefined): string | undefined {
  return node?.type === 'Identifier' ? text(node, 'name') : undefined
}

/** `b` of `a.b` and `a['b']`. */
export function propertyOf(node: Node | undefined): string | undefined {
  if (node?.type !== 'MemberExpression') return undefined
  const property = member(node, 'property')
  return flag(node, 'computed') ? text(property, 'value') : nameOf(property)
}

/** What an expression is without `await`, types, parentheses and optional chaining around it. */
export function bare(node: Node | undefined): Node | undefined {
  let inner = node
  while (inner !== undefined && WRAPPERS.has(inner.type)) {
    inner = member(inner, 'expression') ?? member(inner, 'argument')
  }
  return inner
}

const WRAPPERS = new Set([
  'AwaitExpression',
  'ChainExpression',
  'ParenthesizedExpression',
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
  'TSTypeAssertion',
])

/** Whether a node is a function. */
export function isFunction(node: Node | undefined): node is Node {
  return node !== undefined && FUNCTIONS.has(node.type)
}

const FUNCTIONS = new Set(['ArrowFunctionExpression', 'FunctionExpression', 'FunctionDeclaration'])

/** The nodes directly inside a node. */
export function childrenOf(node: Node): Node[] {
  const children: Node[] = []
  for (const [key, value] of Object.entries(node)) {
    if (key === 'parent') continue
    if (isNode(value)) children.push(value)
    else if (Array.isArray(value)) children.push(...value.filter(isNode))
  }
  return children
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { type?: unknown }).type === 'string'
  )
}
