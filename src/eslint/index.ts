// The public entry `holdfast/eslint`: rules for workflow code, for ESLint and oxlint.

import { VERSION } from '../base/version.ts'
import type { Rule } from './rules.ts'
import { rules } from './rules.ts'

export type { LinterContext, Rule } from './rules.ts'

/** The plugin, as ESLint and oxlint load it. */
export interface HoldfastPlugin {
  readonly meta: { readonly name: 'holdfast'; readonly version: string }
  readonly rules: Readonly<Record<keyof typeof rules, Rule>>
  readonly configs: {
    /** All rules as errors, for the flat configuration of ESLint. */
    readonly recommended: {
      readonly name: string
      readonly plugins: { readonly holdfast: HoldfastPlugin }
      readonly rules: Readonly<Record<`holdfast/${keyof typeof rules}`, 'error'>>
    }
  }
}

const meta = { name: 'holdfast', version: VERSION } as const

/**
 * Finds code in workflows that cannot be replayed: clocks, random numbers, timers, I/O, changed module
 * state, and calls that are not awaited.
 *
 * @example
 * // eslint.config.js
 * import holdfast from 'holdfast/eslint'
 * export default [holdfast.configs.recommended]
 */
const plugin: HoldfastPlugin = {
  meta,
  rules,
  configs: {
    recommended: {
      name: 'holdfast/recommended',
      plugins: {
        get holdfast() {
          return plugin
        },
      },
      rules: Object.fromEntries(
        Object.keys(rules).map((name) => [`holdfast/${name}`, 'error']),
      ) as HoldfastPlugin['configs']['recommended']['rules'],
    },
  },
}

export default plugin
