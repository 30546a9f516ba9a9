import { UNREPEATABLE } from '../base/unrepeatable.ts'
import {
  bare,
  childrenOf,
  flag,
  isFunction,
  member,
  members,
  nameOf,
  type Node,
  propertyOf,
  text,
} from './ast.ts'
import type { SourceCode, Variable } from './ast.ts'
import { argumentsOf, functionOf, referenceOf, variableOf } from './names.ts'
import type { Problem } from './unrepeatable-calls.ts'

/**
 * Calls whose promise nothing awaits: of a context, of an async function of the file that waits for such
 * calls, and of `forEach` with one.
 */
export function forgottenAwait(
  source: SourceCode,
  nodes: readonly Node[],
  contexts: ReadonlySet<Variable>,
): Problem[] {
  const calls = new Calls(source, contexts)
  return nodes.flatMap((node) => [
    ...droppedIn(source, node).flatMap((call) => calls.forgotten(call) ?? []),
    ...(calls.asyncForEach(node) ?? []),
  ])
}

class Calls {
  readonly #source: SourceCode
  readonly #contexts: ReadonlySet<Variable>

  constructor(source: SourceCode, contexts: ReadonlySet<Variable>) {
    this.#source = source
    this.#contexts = contexts
  }

  /** What is wrong with a call whose promise is dropped. */
  forgotten(call: Node): Problem | undefined {
    const method = this.#awaitedMethod(call)
    if (method !== undefined) {
      const message = `${method}() is not awaited. ${UNREPEATABLE.forgottenAwait}.`
      return { node: call, message }
    }
    const callee = member(call, 'callee')
    if (!this.#waits(functionOf(this.#source, callee))) return undefined
    const name = nameOf(bare(callee))
    const called = name === undefined ? 'An async function' : `${name}()`
    return { node: call, message: `${called} is not awaited. ${CUT_OFF}; await it.` }
  }

  /** `forEach` drops the promises of its callback. */
  asyncForEach(node: Node): Problem[] | undefined {
    if (node.type !== 'CallExpression') return undefined
    if (propertyOf(bare(member(node, 'callee'))) !== 'forEach') return undefined
    if (!this.#waits(functionOf(this.#source, argumentsOf(node)[0]))) return undefined
    const message = `forEach() does not await its async callback. ${CUT_OFF}; use ctx.map().`
    return [{ node, message }]
  }

  /** Such as `ctx.run`, if it is a call of a context that has to be awaited. */
  #awaitedMethod(call: Node): string | undefined {
    const callee = bare(member(call, 'callee'))
    const object = bare(member(callee, 'object'))
    const context = object && variableOf(this.#source, object)
    if (context === undefined || !this.#contexts.has(context)) return undefined
    const method = propertyOf(callee) ?? ''
    return AWAITED.has(method) && !isAbandoned(call) ? `${context.name}.${method}` : undefined
  }

  /** Whether a function is async, and makes calls that have to be awaited. */
  #waits(code: Node | undefined): boolean {
    return code !== undefined && flag(code, 'async') && this.#hasCall(code, new Set([code]))
  }

  /** Whether there is such a call in it, or in a function of the file that it calls. */
  #hasCall(node: Node, seen: Set<Node>): boolean {
    if (node.type === 'CallExpression') {
      if (this.#awaitedMethod(node) !== undefined) return true
      const called = functionOf(this.#source, member(node, 'callee'))
      if (called !== undefined && !isFunction(member(node, 'callee')) && !seen.has(called)) {
        seen.add(called)
        if (this.#hasCall(called, seen)) return true
      }
    }
    return childrenOf(node).some((child) => this.#hasCall(child, seen))
  }
}

const CUT_OFF = 'The workflow may end before it, and then the rest of it never runs'

/** The calls whose value a statement drops, or puts into a variable that nothing reads. */
function droppedIn(source: SourceCode, node: Node): readonly Node[] {
  if (node.type === 'ExpressionStatement') {
    const expression = withoutVoid(member(node, 'expression'))
    if (expression?.type !== 'AssignmentExpression') return callsOf(source, expression)
    return isUnread(source, member(expression, 'left'))
      ? callsOf(source, member(expression, 'right'))
      : []
  }
  if (node.type !== 'VariableDeclarator' || !isUnread(source, member(node, 'id'))) return []
  return callsOf(source, member(node, 'init'))
}

function withoutVoid(node: Node | undefined): Node | undefined {
  return node?.type === 'UnaryExpression' && text(node, 'operator') === 'void'
    ? member(node, 'argument')
    : node
}

/** Whether it is a variable that nothing reads. */
function isUnread(source: SourceCode, id: Node | undefined): boolean {
  if (id === undefined || nameOf(id) === undefined) return false
  const isRead = variableOf(source, id)?.references.some((reference) => reference.isRead())
  return isRead === false
}

/** The calls whose promise is the value of an expression, or what that value waits for. */
function callsOf(source: SourceCode, node: Node | undefined): readonly Node[] {
  if (node === undefined) return []
  switch (node.type) {
    case 'ChainExpression':
      return callsOf(source, member(node, 'expression'))
    case 'LogicalExpression':
      return callsOf(source, member(node, 'right'))
    case 'ConditionalExpression':
      return ['consequent', 'alternate'].flatMap((key) => callsOf(source, member(node, key)))
    case 'CallExpression': {
      const callee = bare(member(node, 'callee'))
      if (HANDLERS.has(propertyOf(callee) ?? '')) return callsOf(source, member(callee, 'object'))
      const joins = referenceOf(source, callee)
      if (joins?.module !== '' || !JOINS.has(joins.path)) return [node]
      return members(argumentsOf(node)[0], 'elements').flatMap((one) => callsOf(source, one))
    }
    default:
      return []
  }
}

const HANDLERS = new Set(['then', 'catch', 'finally'])
const JOINS = new Set(['Promise.all', 'Promise.allSettled'])

/** Whether it is a child that is meant to outlive its parent. */
function isAbandoned(call: Node): boolean {
  return members(argumentsOf(call)[2], 'properties').some(
    (property) =>
      nameOf(member(property, 'key')) === 'onParentClose' &&
      text(member(property, 'value'), 'value') === 'abandon',
  )
}

/**
 * What is lost if the workflow ends before it. Starts and messages are carried out without being awaited,
 * and a message that is not received stays in its channel.
 */
const AWAITED = new Set([
  'all',
  'map',
  'race',
  'run',
  'saga',
  'scope',
  'sleep',
  'sleepUntil',
  'step',
  'uncancellable',
])
