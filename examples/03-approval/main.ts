// A person has to approve. The answer may come early, twice, after days, or never.
//
//   npm run build && npx tsx examples/03-approval/main.ts [store URL]

import { message, open } from 'holdfast'
import { answers, approve } from './workflow.ts'

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: approve })

const tea = holdfast.get(approve, 'tea')
if (await isNew('tea')) {
  // The link in the mail was clicked before the workflow asks, even before it is started: the answer
  // waits for it. And it was clicked twice: under one key, that is one answer.
  await tea.send(answers, { by: 'Kim', yes: true }, { dedupeKey: 'click-1' })
  await tea.send(answers, { by: 'Lou', yes: false }, { dedupeKey: 'click-1' })
}
await holdfast.start(approve, { what: 'the tea', patience: 60_000 }, { id: 'tea' })

if (await isNew('pencils')) {
  // Rule 7 says that pencils are always paid for: the answer comes with the start.
  const send = message(answers, { by: 'rule 7', yes: true })
  await holdfast.start(approve, { what: 'pencils', patience: 60_000 }, { id: 'pencils', send })
}

// A moment is enough for a yacht.
await holdfast.start(approve, { what: 'a yacht', patience: 2_000 }, { id: 'yacht' })

for (const id of ['tea', 'pencils', 'yacht']) {
  console.log(`${id}: ${await holdfast.get(approve, id).result()}`)
}

/** Whether nothing was started under the id yet: this program may have been stopped and run again. */
async function isNew(id: string): Promise<boolean> {
  return (await holdfast.get(approve, id).info()) === undefined
}
