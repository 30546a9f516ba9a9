import { expect, test } from 'vitest'
import { endsTransaction } from './transaction-control.ts'

test.each([
  'commit',
  ' COMMIT;',
  'commit and chain',
  'end',
  'begin',
  'start  transaction read only',
  'rollback',
  'rollback and chain',
  'rollback work',
  'abort',
  `prepare transaction 'x'`,
  '-- done\ncommit',
  '/* all of it */ ; rollback',
  '/* a /* nested */ comment */ commit',
  '-- done\rcommit',
  `prepare /* it */ transaction 'x'`,
  'start -- now\n transaction',
])('%j ends or begins a transaction', (text) => {
  expect(endsTransaction(text)).toBe(true)
})

test.each([
  'select 1',
  'rollback to a',
  'rollback to savepoint a',
  'ROLLBACK WORK TO SAVEPOINT a',
  'rollback transaction to a',
  'savepoint a',
  'release a',
  'prepare statement as select 1',
  'ending',
  'commits',
  '',
  '-- commit',
  'select 1 -- commit',
  '/* a /* nested */ commit */ select 1',
  '/* commit',
  '/*/ commit */ select 1',
  'rollback /* back */ to a',
  '"commit"',
])('%j does not', (text) => {
  expect(endsTransaction(text)).toBe(false)
})
