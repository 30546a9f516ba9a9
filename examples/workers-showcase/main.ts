// Plays the eight scenarios on a clock that jumps, then two workers for a second on the real one.
// The exit code is 1 when one of them did not go as expected.

import { runLive } from './live.ts'
import { scenarios } from './scenarios.ts'
import { openStage, type Scenario, timeText } from './stage.ts'

const coloured = process.stdout.isTTY && !process.env.NO_COLOR
const paint =
  (code: number) =>
  (text: string): string =>
    coloured ? `\u001B[${code}m${text}\u001B[0m` : text
const bold = paint(1)
const dim = paint(2)
const red = paint(31)
const green = paint(32)
const cyan = paint(36)

const failed: string[] = []

for (const [index, scenario] of scenarios.entries()) {
  heading(`${index + 1}. ${scenario.title}`, scenario.story)
  if (!(await holds(scenario))) failed.push(scenario.contract)
}

heading('Live', 'Two supervised workers on the real clock, for about a second.')
const { stragglers } = await runLive(narrate)
if (stragglers.length > 0) failed.push(`still running: ${stragglers.join(', ')}`)

console.log()
if (failed.length === 0) {
  console.log(green(bold(`All ${scenarios.length} scenarios went as expected.`)))
} else {
  console.log(red(bold(`Not as expected: ${failed.join(', ')}`)))
  process.exitCode = 1
}

async function holds(scenario: Scenario): Promise<boolean> {
  const verdict = scenario.check(await scenario.play(openStage(narrate)))
  console.log(`   ${verdict.holds ? green('✓') : red('✗')} ${verdict.claim}`)
  console.log(`     ${dim(scenario.contract)}`)
  return verdict.holds
}

function narrate(atMs: number, who: string, what: string): void {
  console.log(`   ${dim(timeText(atMs))}  ${cyan(who.padEnd(8))} ${what}`)
}

function heading(title: string, story: string): void {
  console.log(`\n${bold(title)}\n   ${story}\n`)
}
