import { expect, test } from 'vitest'

import { dropSchema } from './postgres-schema.ts'

const NAME = 'test_hft_m1xk2a3b_0a1b2c3d'

/** A connection whose drops fail as often as there are codes. */
function failing(...codes: string[]) {
  let drops = 0
  const query = async () => {
    drops++
    const code = codes.shift()
    if (code !== undefined) throw Object.assign(new Error(code), { code })
    return { rows: [] }
  }
  return { client: { query } as never, drops: () => drops }
}

test('a schema is dropped again after a deadlock with a statement that still runs', async () => {
  const { client, drops } = failing('40P01', '40P01')

  await dropSchema(client, NAME)

  expect(drops()).toBe(3)
})

test.each([
  ['another error', ['55P03'], 1],
  ['deadlock after deadlock', Array.from({ length: 9 }, () => '40P01'), 5],
])('%s is thrown', async (_, codes, tries) => {
  const [code] = codes
  const { client, drops } = failing(...codes)

  await expect(dropSchema(client, NAME)).rejects.toMatchObject({ code })
  expect(drops()).toBe(tries)
})
