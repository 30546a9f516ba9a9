// Finds workflow code in a file: functions that are given to `workflow()` or to `implement()` of a
// workflow, those with a parameter of type `WorkflowContext`, and functions of the same file that any of
// these call. Code of steps and activities inside them is not workflow code.

import {
  bare,
  childrenOf,
  isFunction,
  member,
  members,
  nameOf,
  type Node,
  propertyOf,
} from './ast.ts'
import type { SourceCode, Variable } from './ast.ts'
import { argumentsOf, functionOf, referenceOf, variableOf } from './names.ts'

/** The workflow code of a file. */
export interface WorkflowCode {
  /** Every node of it, in no particular order. */
  readonly nodes: readonly Node[]
  /** The parameters that are a `ctx`. */
  readonly contexts: ReadonlySet<Variable>
}

const found = new WeakMap<Node, WorkflowCode>()

/** The workflow code of a file. Found once for all rules. */
export function workflowCodeOf(source: SourceCode): WorkflowCode {
  let code = found.get(source.ast)
  if (code === undefined) found.set(source.ast, (code = new Search(source).run()))
  return code
}

class Search {
  readonly #source: SourceCode
  readonly #contexts = new Set<Variable>()
  readonly #functions = new Set<Node>()
  readonly #waiting: Node[] = []
  readonly #nodes: Node[] = []

  constructor(source: SourceCode) {
    this.#source = source
  }

  run(): WorkflowCode {
    this.#findRoots(this.#source.ast)
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) {
      for (const child of childrenOf(next)) this.#walk(child)
    }
    return { nodes: this.#nodes, contexts: this.#contexts }
  }

  #findRoots(node: Node): void {
    if (node.type === 'CallExpression') this.#findDefinition(node)
    if (isFunction(node)) {
      for (const param of paramsOf(node)) if (isContextType(param)) this.#add(node, param)
    }
    for (const child of childrenOf(node)) this.#findRoots(child)
  }

  #findDefinition(call: Node): void {
    const code = functionOf(this.#source, argumentsOf(call).at(-1))
    if (code === undefined) return
    const context = paramsOf(code)[1]
    if (this.#isWorkflow(call)) return this.#add(code, context)
    const callee = bare(member(call, 'callee'))
    if (propertyOf(callee) !== 'implement') return
    const definition = this.#definitionOf(member(callee, 'object'))
    // It may be imported: then what it calls on its context tells which of the two it is.
    const isWorkflow =
      definition === undefined ? this.#usesWorkflowContext(code) : this.#isWorkflow(definition)
    if (isWorkflow) this.#add(code, context)
  }

  /** Whether a call is one of `workflow()`: of the package, or of a module of the project. */
  #isWorkflow(call: Node): boolean {
    const called = referenceOf(this.#source, member(call, 'callee'))
    if (called === undefined || !/^(?:default\.)?workflow$/.test(called.path)) return false
    return called.module === 'holdfast' || /^[.#@~]/.test(called.module)
  }

  /** The call that made a contract, if that is in this file. */
  #definitionOf(contract: Node | undefined): Node | undefined {
    const node = bare(contract)
    const [definition] = (node && variableOf(this.#source, node)?.defs) ?? []
    const made = definition?.type === 'Variable' ? bare(member(definition.node, 'init')) : undefined
    return made?.type === 'CallExpression' ? made : undefined
  }

  #usesWorkflowContext(code: Node): boolean {
    const context = nameOf(paramsOf(code)[1])
    if (context === undefined) return false
    const uses = (node: Node): boolean =>
      (node.type === 'MemberExpression' &&
        nameOf(member(node, 'object')) === context &&
        WORKFLOW_ONLY.has(propertyOf(node) ?? '')) ||
      childrenOf(node).some(uses)
    return uses(code)
  }

  #add(code: Node, context?: Node): void {
    this.#addContext(context)
    if (this.#functions.has(code)) return
    this.#functions.add(code)
    this.#waiting.push(code)
  }

  #addContext(param: Node | undefined): void {
    const named = param && variableOf(this.#source, identifierOf(param))
    if (named !== undefined) this.#contexts.add(named)
  }

  #walk(node: Node): void {
    if (isFunction(node)) {
      // Walked here already, or as a function of its own.
      if (this.#functions.has(node)) return
      this.#functions.add(node)
    }
    this.#nodes.push(node)
    // `const c = ctx`
    if (node.type === 'VariableDeclarator' && this.#isContext(member(node, 'init'))) {
      this.#addContext(member(node, 'id'))
    }
    const exempt = node.type === 'CallExpression' ? this.#enterCall(node) : undefined
    for (const child of childrenOf(node)) if (child !== exempt) this.#walk(child)
  }

  /** Follows a call. Returns the argument that is not workflow code, if there is one. */
  #enterCall(call: Node): Node | undefined {
    const callee = bare(member(call, 'callee'))
    const given = argumentsOf(call)
    const method = propertyOf(callee)
    if (method === 'step') return given[1]
    const name = nameOf(callee)
    if (name === 'activity' || name === 'transaction') return given.at(-1)
    if (method !== undefined && this.#isContext(member(callee, 'object'))) {
      for (const param of innerContexts(method, given)) this.#addContext(param)
    }
    const called = name === undefined ? undefined : functionOf(this.#source, callee)
    if (called === undefined) return undefined
    const params = paramsOf(called)
    for (const [i, argument] of given.entries()) {
      if (this.#isContext(argument)) this.#addContext(params[i])
    }
    this.#add(called)
    return undefined
  }

  #isContext(node: Node | undefined): boolean {
    const variable = node && variableOf(this.#source, node)
    return variable !== undefined && this.#contexts.has(variable)
  }
}

/** What only the context of a workflow has, and not that of an activity. */
const WORKFLOW_ONLY = new Set([
  'all',
  'continueAsNew',
  'get',
  'map',
  'now',
  'patched',
  'progress',
  'race',
  'random',
  'receive',
  'run',
  'saga',
  'scope',
  'sleep',
  'sleepUntil',
  'start',
  'state',
  'step',
  'uncancellable',
  'uuid',
])

/** The parameters that are contexts of functions given to `ctx.map`, `ctx.scope`, `ctx.race`, … */
function innerContexts(method: string, given: readonly Node[]): (Node | undefined)[] {
  switch (method) {
    case 'map':
      return isFunction(given[1]) ? [paramsOf(given[1])[1]] : []
    case 'scope':
    case 'uncancellable':
      return given.map(firstOf)
    case 'all':
    case 'race': {
      const branches = members(given[0], 'properties').map((property) => member(property, 'value'))
      return [...branches, ...members(given[0], 'elements')].map(firstOf)
    }
    default:
      return []
  }
}

/** The first parameter, if it is a function. */
function firstOf(node: Node | undefined): Node | undefined {
  return isFunction(node) ? paramsOf(node)[0] : undefined
}

/** The parameters of a function. */
function paramsOf(code: Node): readonly Node[] {
  return members(code, 'params')
}

/** The name of a parameter, also of one with a default. */
function identifierOf(param: Node): Node {
  return param.type === 'AssignmentPattern' ? member(param, 'left')! : param
}

function isContextType(param: Node): boolean {
  const annotation = member(member(identifierOf(param), 'typeAnnotation'), 'typeAnnotation')
  return (
    annotation?.type === 'TSTypeReference' &&
    nameOf(member(annotation, 'typeName')) === 'WorkflowContext'
  )
}
