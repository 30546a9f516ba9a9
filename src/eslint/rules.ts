import type { Node, RuleContext, SourceCode, Variable } from './ast.ts'
import { forgottenAwait } from './forgotten-await.ts'
import { clientCalls } from './io-clients.ts'
import { moduleState } from './module-state.ts'
import {
  clock,
  environment,
  forbidden,
  io,
  nativeRace,
  type Problem,
  random,
  timers,
} from './unrepeatable-calls.ts'
import { workflowCodeOf } from './workflow-code.ts'

/** A rule, as ESLint and oxlint run it. */
export interface Rule {
  readonly meta: {
    readonly type: 'problem'
    readonly docs: { readonly description: string }
    readonly schema: readonly never[]
  }
  create(context: LinterContext): { readonly 'Program:exit': () => void }
}

/** What a linter passes to a rule. Linters type it differently, so that this leaves it open. */
export interface LinterContext {
  readonly sourceCode: object
  report(problem: never): void
}

type Find = (
  source: SourceCode,
  nodes: readonly Node[],
  contexts: ReadonlySet<Variable>,
) => readonly Problem[]

function rule(description: string, find: Find): Rule {
  return {
    meta: { type: 'problem', docs: { description }, schema: [] },
    create: (given) => ({
      'Program:exit'() {
        const context = given as unknown as RuleContext
        const { sourceCode: source } = context
        const { nodes, contexts } = workflowCodeOf(source)
        if (nodes.length === 0) return
        for (const problem of find(source, nodes, contexts)) context.report(problem)
      },
    }),
  }
}

/** All rules, by name. */
export const rules = {
  'no-clock': rule('Workflow code asks ctx for the time.', forbidden(clock)),
  'no-random': rule('Workflow code asks ctx for random values.', forbidden(random)),
  'no-timers': rule('Workflow code waits by ctx.sleep().', forbidden(timers)),
  'no-io': rule('Workflow code leaves I/O to steps and activities.', (source, nodes) => [
    ...forbidden(io)(source, nodes),
    ...clientCalls(source, nodes),
  ]),
  'no-environment': rule(
    'Workflow code does not depend on the process that it runs in.',
    forbidden(environment),
  ),
  'no-native-race': rule(
    'Workflow code races by ctx.race(), which cancels what loses.',
    forbidden(nativeRace),
  ),
  'no-module-state': rule('Workflow code does not change variables of its module.', moduleState),
  'no-forgotten-await': rule('Calls of ctx are awaited.', forgottenAwait),
} as const satisfies Record<string, Rule>
