import { activity, open, workflow } from 'holdfast'

const greet = activity('greet', async (name: string) => `hello ${name}`)

const hello = workflow('hello', async (name: string, ctx) => {
  await ctx.sleep('5s') // stop the process here, start it again: it carries on
  return ctx.run(greet, name)
})

await using holdfast = await open('file:hello.db', { register: hello }) // or 'postgres://…'
console.log(await holdfast.run(hello, 'Kim', { id: 'hello-kim' }))
