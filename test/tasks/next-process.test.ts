import { expect, test } from 'vitest'

import { activity, type ActivityOptions, open, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { freezable, QUICK } from './support.ts'

const ROUTES: Record<string, ActivityOptions> = {
  'without a route': {},
  'with a tag': { tag: 'far' },
  'with a session': { session: 's' },
}

// The next process registers the workflow alone, as one does: it learns from the past of its instances
// which activities they call.
describeOnStores('an activity that beats and waits for its next attempt', (kind) => {
  const lives = Object.keys(ROUTES).flatMap((route) =>
    (['closes', 'dies'] as const).map((how) => [route, how] as const),
  )

  test.concurrent.each(lives)('%s continues after its process %s', async (route, how) => {
    await using space = await openSpace(kind)
    const ran: unknown[] = []
    const flaky = activity(
      'flaky',
      { ...ROUTES[route], retry: { delay: 1_500, jitter: false } },
      async (_: undefined, ctx) => {
        ran.push(ctx.lastHeartbeat)
        if (ctx.attempt === 2) return 'done'
        ctx.heartbeat('half')
        throw new Error('not yet')
      },
    )
    const long = workflow('long', async (_: undefined, ctx) => ctx.run(flaky))
    const options = { tags: ['far'], ...QUICK }
    const cut = freezable(space)
    const first = await open(cut.store, { register: long, log: space.log, ...options })
    await first.start(long, undefined, { id: 'i' })
    await eventually(() => space.log.at('info').includes('activity failed; retrying'))
    await eventually(() => cut.answers('finishTasks') > 0)

    await (how === 'closes' ? first.close() : cut.die())
    const next = await space.open(long, options)
    const result = await next.get('i').result({ timeout: '12s' })
    cut.thaw()
    await first.close({ drain: 0 })

    expect(result).toBe('done')
    expect(ran).toEqual([undefined, 'half'])
  })
})
