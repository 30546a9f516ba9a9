import { UNREPEATABLE } from '../base/unrepeatable.ts'
import {
  bare,
  member,
  nameOf,
  type Node,
  propertyOf,
  type SourceCode,
  type Variable,
} from './ast.ts'
import { isContainer, isOfModule, rootOf, variableOf } from './names.ts'
import type { Problem } from './unrepeatable-calls.ts'

/** What workflow code writes to variables of its module. */
export function moduleState(source: SourceCode, nodes: readonly Node[]): Problem[] {
  return nodes.flatMap((node) => {
    const target = writtenBy(source, node)
    if (target === undefined) return []
    const name = nameOf(target)!
    const message = `"${name}" of the module must not be changed in workflow code. ${UNREPEATABLE.moduleState}.`
    return [{ node, message }]
  })
}

/** The name of the module that a node writes to, or to a member of. */
function writtenBy(source: SourceCode, node: Node): Node | undefined {
  switch (node.type) {
    case 'AssignmentExpression':
      return ofModule(source, rootOf(member(node, 'left')))
    case 'UpdateExpression':
      return ofModule(source, rootOf(member(node, 'argument')))
    case 'UnaryExpression':
      return (node as unknown as { operator?: string }).operator === 'delete'
        ? ofModule(source, rootOf(member(node, 'argument')))
        : undefined
    case 'CallExpression': {
      const callee = bare(member(node, 'callee'))
      const object = bare(member(callee, 'object'))
      if (!CHANGING.has(propertyOf(callee) ?? '') || nameOf(object) === undefined) return undefined
      return ofModule(source, object, isCollection)
    }
    default:
      return undefined
  }
}

function ofModule(
  source: SourceCode,
  identifier: Node | undefined,
  isMeant: (variable: Variable) => boolean = () => true,
): Node | undefined {
  if (identifier === undefined || nameOf(identifier) === undefined) return undefined
  const variable = variableOf(source, identifier)
  return variable !== undefined && isOfModule(variable) && isMeant(variable)
    ? identifier
    : undefined
}

function isCollection({ defs: [definition] }: Variable): boolean {
  return definition?.type === 'Variable' && isContainer(member(definition.node, 'init'))
}

const CHANGING = new Set([
  'add',
  'clear',
  'copyWithin',
  'delete',
  'fill',
  'pop',
  'push',
  'reverse',
  'set',
  'shift',
  'sort',
  'splice',
  'unshift',
])
