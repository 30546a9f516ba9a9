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
 * Calls whose promise nothing awaits: of a context, of a function of the file that returns such a promise
 * or waits for one, and of `map` and `forEach` with such a function.
 */
export function forgottenAwait(
  source: SourceCode,
  nodes: readonly Node[],
  contexts: ReadonlySet<Variable>,
): Problem[] {
  const calls = new Calls(source, contexts)
  return nodes.flatMap((node) => [
    ...droppedIn(source, node).flatMap((call) => calls.forgotten(call) ?? []),
    ...(calls.forgottenByForEach(node) ?? []),
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
    const callee = bare(member(call, 'callee'))
    if (this.#isLostInMap(call)) {
      const message = `What ${propertyOf(callee)}() returns is not awaited. ${CUT_OFF}; use ctx.map().`
      return { node: call, message }
    }
    const code = functionOf(this.#source, callee)
    if (code === undefined || !this.#mustBeAwaited(code)) return undefined
    const name = nameOf(callee)
    const kind = flag(code, 'async') ? 'An async function' : 'A function'
    const called = name === undefined ? kind : `${name}()`
    return { node: call, message: `${called} is not awaited. ${CUT_OFF}; await it.` }
  }

  /** `forEach` drops the promises of its callback. */
  forgottenByForEach(node: Node): Problem[] | undefined {
    if (node.type !== 'CallExpression') return undefined
    if (propertyOf(bare(member(node, 'callee'))) !== 'forEach') return undefined
    const code = functionOf(this.#source, argumentsOf(node)[0])
    if (code === undefined || !this.#mustBeAwaited(code)) return undefined
    const callback = flag(code, 'async') ? 'async callback' : 'callback'
    const message = `forEach() does not await its ${callback}. ${CUT_OFF}; use ctx.map().`
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

  /** Whether it is `map` of a list with a callback whose promises are the items of what it returns. */
  #isLostInMap(call: Node, seen = new Set<Node>()): boolean {
    if (!LISTING.has(propertyOf(bare(member(call, 'callee'))) ?? '')) return false
    return this.#mustBeAwaited(functionOf(this.#source, argumentsOf(call)[0]), seen)
  }

  /**
   * Whether a function is async and makes calls that have to be awaited, or is not and returns one. What
   * else it does with their promises is not followed: it may keep them for later.
   */
  #mustBeAwaited(code: Node | undefined, seen = new Set<Node>()): boolean {
    if (code === undefined || seen.has(code) || flag(code, 'generator')) return false
    seen.add(code)
    if (flag(code, 'async')) return this.#hasCall(code, new Set([code]))
    return returnedBy(this.#source, code).some(
      (call) =>
        this.#awaitedMethod(call) !== undefined ||
        this.#isLostInMap(call, seen) ||
        this.#mustBeAwaited(functionOf(this.#source, member(call, 'callee')), seen),
    )
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

const LISTING = new Set(['map', 'flatMap'])

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

/** The calls whose promise a function returns. */
function returnedBy(source: SourceCode, code: Node): readonly Node[] {
  const body = member(code, 'body')
  return body?.type === 'BlockStatement' ? returnedIn(source, body) : callsOf(source, body)
}

function returnedIn(source: SourceCode, node: Node): readonly Node[] {
  if (node.type === 'ReturnStatement') return callsOf(source, member(node, 'argument'))
  if (isFunction(node)) return []
  return childrenOf(node).flatMap((child) => returnedIn(source, child))
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
      const [joined] = argumentsOf(node)
      const items = members(joined, 'elements')
      return [...items.flatMap((one) => callsOf(source, one)), ...callsOf(source, joined)]
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
