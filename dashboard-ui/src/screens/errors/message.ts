/**
 * Why a reader or a program suspended an instance, which is no error of it: empty without a reason, and
 * `undefined` where something went wrong.
 */
export function reasonOfPause(error: {
  readonly name: string
  readonly message: string
}): string | undefined {
  const said = /^suspended(?:: (.*))?$/s.exec(error.message)
  return said === null || error.name !== 'Error' ? undefined : (said[1] ?? '')
}

/** The message without what every failed workflow says first: `workflow "order" failed: `. */
export function whatWentWrong(group: {
  readonly workflow: string
  readonly message: string
}): string {
  const prefix = `workflow "${group.workflow}" failed: `
  return group.message.startsWith(prefix) ? group.message.slice(prefix.length) : group.message
}
