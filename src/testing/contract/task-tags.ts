import type { ServedTags } from '../../store/tasks.ts'
import { effects } from './items.ts'
import { type Contract, named, turnItem, turnRow } from './scene.ts'
import {
  asking,
  commandsOf,
  finish,
  held,
  heldOne,
  newTask,
  released,
  retried,
} from './task-items.ts'

/** Which tasks a runtime gets by their tags. */
export function describeTaskTags({ describe, test, expect, open }: Contract): void {
  describe('tags of tasks', () => {
    test(
      named(
        'a runtime gets tasks with the tags that it serves, and without a tag if it serves those',
        '[test_default_only_fetches_untagged]',
        '[test_tags_fetches_only_matching]',
        '[test_default_and_fetches_untagged_and_matching]',
        '[test_none_filter_returns_nothing]',
        '[test_multi_tag_filter]',
        '[test_any_filter_fetches_everything]',
      ),
      async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const tags = ['', 'gpu', 'eu, "west"', 'GPU']
        await asking(
          runtime,
          tags.map((tag, i) => newTask(i + 1, { tag })),
        )
        const cases: readonly [ServedTags, readonly number[]][] = [
          [{ untagged: true, tags: [] }, [1]],
          [{ untagged: false, tags: ['gpu'] }, [2]],
          [{ untagged: true, tags: ['gpu'] }, [1, 2]],
          [{ untagged: false, tags: [] }, []],
          [{ untagged: false, tags: ['other', 'eu, "west"', 'GPU'] }, [3, 4]],
          [{ untagged: true, tags: 'any' }, [1, 2, 3, 4]],
          [{ untagged: false, tags: 'any' }, [2, 3, 4]],
        ]

        for (const [served, commands] of cases) {
          const tasks = await held(runtime, { served })
          await finish(runtime, ...tasks.map((task) => released(task)))
          const got = tasks.map(({ command }) => command)
          expect({ served, got }).toEqual({ served, got: commands })
        }
      },
    )

    test(
      named(
        'a tag comes back as it was given, with a start or with a turn',
        '[test_tag_round_trip_preservation]',
        '[test_tag_preserved_through_ack_orchestration_item]',
      ),
      async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const tags = ['', ' ', 'a,b', '["a"]', '{a}', `o'tag`, 'größe', '%', 'null', '\\']
        const tasks = tags.map((tag, i) => newTask(i + 1, { tag }))
        await asking(runtime, tasks)
        const iid = await runtime.ownOne()
        await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ tasks }) }))

        for (const tag of tags.slice(1)) {
          const two = await held(runtime, { served: { untagged: false, tags: [tag] } })
          expect(two.map((task) => task.tag)).toEqual([tag, tag])
        }
        expect((await held(runtime)).map((task) => task.tag)).toEqual(['', ''])
      },
    )

    test('a tag stays with its task over releases, retries and turns [test_tag_survives_abandon_and_refetch]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const served = { untagged: false, tags: ['gpu'] }
      const iid = await asking(runtime, [newTask(1, { tag: 'gpu' })])

      await finish(runtime, released(await heldOne(runtime, { served })))
      await runtime.turns(turnItem(iid, { turn: turnRow(2) }))
      expect(await held(runtime)).toEqual([])
      await finish(runtime, retried(await heldOne(runtime, { served })))

      expect(await held(runtime)).toEqual([])
      expect(await heldOne(runtime, { served })).toMatchObject({ tag: 'gpu', attempt: 2 })
    })

    test('runtimes with different and overlapping tags each get theirs from one queue [test_multi_runtime_tag_isolation]', async () => {
      await using scene = await open()
      const gpu = await scene.runtime()
      const both = await scene.otherRuntime()
      const all = await scene.otherRuntime()
      const tags = ['gpu', 'cpu', '', 'gpu', 'cpu', 'disk', 'gpu']
      await asking(
        gpu,
        tags.map((tag, i) => newTask(i + 1, { tag })),
      )

      const one = await commandsOf(gpu, { served: { untagged: false, tags: ['gpu'] }, limit: 2 })
      const two = await commandsOf(both, { served: { untagged: false, tags: ['cpu', 'gpu'] } })
      const three = await commandsOf(all, { served: { untagged: true, tags: 'any' } })

      expect([one, two, three]).toEqual([
        [1, 4],
        [2, 5, 7],
        [3, 6],
      ])
    })
  })
}
