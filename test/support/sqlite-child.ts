// A process of its own on an SQLite file: `sqlite-child.ts <verb> <path> [count]`.
import { exit } from 'node:process'
import { openStore, startItem } from './sqlite.ts'

const [verb, path, count] = process.argv.slice(2) as [string, string, string]
const say = (line: unknown): boolean => process.stdout.write(`${String(line)}\n`)

switch (verb) {
  case 'open': {
    // Opens, says which file it found, and closes.
    const under = await openStore(path)
    say(under.server)
    await under.store.close()
    break
  }
  case 'leave': {
    // Neither closes nor exits: the process must end by itself.
    const under = await openStore(path)
    say(under.runtime)
    break
  }
  case 'start': {
    // Starts instances, one commit each, and names each once it is acknowledged.
    const under = await openStore(path)
    const first = await under.store.reserve(Number(count))
    for (let iid = first; iid < first + Number(count); iid++) {
      await under.commit([startItem(iid)])
      say(iid)
    }
    await under.store.close()
    break
  }
  default:
    say(`unknown verb ${verb}`)
    exit(2)
}
