// A process that encrypts with one key, and waits inside an activity until it is killed.
//
//   encrypted.ts <store as JSON>

import { open } from '../../../src/index.ts'
import { letters, oldKeys, type Place, placeOf } from './letters.ts'

const place = JSON.parse(process.argv[2]!) as Place
const { write, register } = letters(() => new Promise(() => {}))
const runtime = await open(placeOf(place), { register, codec: oldKeys, lease: '1s' })
await runtime.start(write, 'a secret of old', { id: 'letter' })
