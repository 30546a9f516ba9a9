// A runtime that a file leaves open guards the globals of every file after it in the same process.

import { afterAll, beforeAll } from 'vitest'

const NATIVE = /\{\s*\[native code\]\s*\}$/

const isGuarded = (): boolean => !NATIVE.test(String(Date.now))

let wasGuarded = false

beforeAll(() => void (wasGuarded = isGuarded()))

afterAll(() => {
  // Only of the file that did it: those after it cannot close the runtime.
  if (wasGuarded || !isGuarded()) return
  throw new Error('the tests of this file leave a runtime open: Date.now is still guarded')
})
