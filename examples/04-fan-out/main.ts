// Many things at once: each of a list, all of a few, the first of some.
//
//   npm run build && npx tsx examples/04-fan-out/main.ts [store URL]

import { open } from 'holdfast'
import { makeAlbum } from './workflow.ts'

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: makeAlbum })
const photos = ['beach', 'boat', 'cat', 'dinner', 'dune', 'gull', 'pier', 'sunset']
const album = await holdfast.run(makeAlbum, photos, { id: 'summer' })
console.log(`prints: ${album.prints.join(' ')}`)
console.log(`at most ${album.mostAtOnce} were developed at once`)
console.log(`bound by ${album.binder}, for ${album.cents} cents in all`)
