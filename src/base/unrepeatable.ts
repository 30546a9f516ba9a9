// Why calls must not be made in workflow code, and what to call instead. The guard that finds them at
// run time and the lint rules that find them in the editor say the same.

/** Gives another value each time. */
function differs(instead: string): string {
  return `It gives a different value on replay; use ${instead}`
}

/** Has an effect, or continues outside a turn. */
function unrepeatable(instead: string): string {
  return `It cannot be replayed; use ${instead}`
}

/** By call: why not, and what to call instead. */
export const UNREPEATABLE = {
  clock: differs('ctx.now() instead'),
  random: differs('ctx.random() or ctx.uuid() instead'),
  setTimeout: unrepeatable('ctx.sleep()'),
  setInterval: unrepeatable('ctx.sleep() in a loop'),
  setImmediate: unrepeatable('ctx.sleep(0)'),
  io: unrepeatable('ctx.step() or an activity'),
  environment:
    'It may differ on replay, in another process or after a deployment; pass it as input, or read it ' +
    'in ctx.step()',
  race: 'The calls that lose stay open, and take the next message or result; use ctx.race()',
  moduleState:
    'It is shared by all instances of the process, and lost on replay; use a local variable or ctx.state',
  forgottenAwait:
    'The workflow may end before it, and then it is cancelled and may never run; await it, or call ' +
    'cancel() on it',
} as const
