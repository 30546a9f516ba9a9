// Blanks and comments before the first word of a statement. Comments within comments are not looked
// for: what is missed here is found when the transaction is to be finished.
const BEFORE = /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)*/

const CONTROL =
  /^(?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b))\b/i

/** Whether a statement begins or ends a transaction; savepoints do not. */
export function endsTransaction(text: string): boolean {
  return CONTROL.test(text.replace(BEFORE, ''))
}
