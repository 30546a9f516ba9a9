import plugin, { type HoldfastPlugin, type Rule } from 'holdfast/eslint'

export const config: HoldfastPlugin['configs']['recommended'] = plugin.configs.recommended
export const clock: Rule = plugin.rules['no-clock']
if (plugin.meta.name !== 'holdfast' || config.plugins.holdfast !== plugin) {
  throw new Error('the configuration names another plugin')
}
