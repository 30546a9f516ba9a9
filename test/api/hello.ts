// The first program a user writes. It is compiled, never run, as are the other programs here.

import { activity, open, workflow } from 'holdfast'

const greet = activity('greet', async (name: string) => `hello ${name}`)
const hello = workflow('hello', async (name: string, ctx) => {
  await ctx.sleep('5s') // outlives the process
  return ctx.run(greet, name)
})

export async function main(): Promise<string> {
  await using holdfast = await open('file:hello.db', { register: hello })
  return await holdfast.run(hello, 'Kim', { id: 'hello-kim' })
}
