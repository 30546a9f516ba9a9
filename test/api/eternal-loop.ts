// A watch that never ends: every few hundred rounds it starts over, so that its past stays short.

import { activity, type Client, stateKey, workflow } from 'holdfast'

const probe = activity(
  'probe',
  async (url: string, ctx) => (await fetch(url, { signal: ctx.signal })).ok,
)

export const lastDown = stateKey<Date>('last-down')

export const monitor = workflow('monitor', async (site: { url: string; down: number }, ctx) => {
  let { down } = site
  for (let round = 0; round < 500; round++) {
    const up = await ctx.run(probe, site.url).catch(() => false)
    down = up ? 0 : down + 1
    if (down === 1) ctx.state.set(lastDown, ctx.now())
    ctx.progress(up ? 'up' : `down, ${down} rounds by now`)
    await ctx.sleep('1m')
  }
  return ctx.continueAsNew({ ...site, down })
})

/** Each change as a line, until the reader stops. */
export async function* report(client: Client, id: string, signal: AbortSignal) {
  const instance = client.get(monitor, id)
  for await (const { status, progress } of instance.watch({ signal })) {
    const since = await instance.readState(lastDown)
    yield `${status}: ${String(progress)}, last down ${since?.toISOString() ?? 'never'}`
  }
}
