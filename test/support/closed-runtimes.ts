// A runtime that a file leaves open guards the globals of every file after it in the same process.

import { afterAll } from 'vitest'

const NATIVE = /\{\s*\[native code\]\s*\}$/

afterAll(() => {
  if (NATIVE.test(String(Date.now))) return
  throw new Error('the tests of this file leave a runtime open: Date.now is still guarded')
})
