import { expect, test } from 'vitest'
import { addressWithoutPassword, withoutPasswords } from './redact.ts'

test.each([
  ['postgres://kim:secret@host:5432/shop', 'postgres://kim:***@host:5432/shop'],
  ['postgres://kim:sec@ret@host/shop', 'postgres://kim:***@host/shop'],
  ['at postgres://kim:se cr et@host/shop, gone', 'at postgres://kim:***@host/shop, gone'],
  ['at postgresql://:secret@host, gone', 'at postgresql://:***@host, gone'],
  [
    'postgres://host/shop?user=kim&password=secret&x=1',
    'postgres://host/shop?user=kim&password=***&x=1',
  ],
  ['postgres://host/shop?password=***: gone', 'postgres://host/shop?password=***: gone'],
  ['host=h password=secret dbname=d', 'host=h password=*** dbname=d'],
  ['postgres://kim@host/shop at 12:30', 'postgres://kim@host/shop at 12:30'],
  ['file:shop.db', 'file:shop.db'],
])('%s', (text, shown) => {
  expect(withoutPasswords(text)).toBe(shown)
})

test.each([
  ['postgres://kim:se cret@host:5432/shop', 'postgres://kim:***@host:5432/shop'],
  ['postgres://kim:s@e:c"r@host:5432/shop', 'postgres://kim:***@host:5432/shop'],
  [
    'postgres://host/shop?password=se cret&sslmode=x',
    'postgres://host/shop?password=***&sslmode=x',
  ],
  ['postgres://kim:se cret@/shop?host=/tmp', 'postgres://…@/shop?host=/tmp'],
  ['postgres://kim:se/cret@host/shop', 'postgres://…@host/shop'],
  ['postgres://kim:secret/shop', 'postgres://…'],
  ['postgres://kim@host/shop', 'postgres://kim@host/shop'],
])('%s as an address', (url, shown) => {
  expect(addressWithoutPassword(url)).toBe(shown)
})
