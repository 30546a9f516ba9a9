// A runtime that a file leaves open guards the globals of every file after it in the same process.

import { afterAll } from 'vitest'

const NATIVE = /\{\s*\[native code\]\s*\}$/
const REPORTED = Symbol.for('holdfast.tests.runtime-left-open')

afterAll(() => {
  if (NATIVE.test(String(Date.now)) || Object.hasOwn(Date.now, REPORTED)) return
  // Only of the file that did it: those after it cannot close the runtime.
  Object.defineProperty(Date.now, REPORTED, { value: true })
  throw new Error('the tests of this file leave a runtime open: Date.now is still guarded')
})
