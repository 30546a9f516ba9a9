import { StoreError } from '../../store/store-error.ts'
import { readEvents, writeEvents } from '../../store/history.ts'
import { childOf, effects, message } from './items.ts'
import {
  type Contract,
  ending,
  idOf,
  LEASE_MS,
  result,
  startItem,
  turnItem,
  turnRow,
} from './scene.ts'

/** Strings are stored as they are, whatever they contain. */
export function describeTexts({ describe, test, expect, open }: Contract): void {
  describe('texts', () => {
    for (const [name, text] of Object.entries(ODD)) {
      test(`${name} comes back as it was`, async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const [iid, held, first] = await runtime.reserve(3)
        await runtime.starts(
          runtime.startItem(iid!, { turn: turnRow(1, { events: text }) }),
          runtime.startItem(held!),
          runtime.startItem(first!, { end: ending(text) }),
        )
        await scene.store.send([result(iid!, 1, text)])
        await runtime.turns(
          turnItem(held!, { next: { kind: 'suspend', report: text } }),
          turnItem(iid!, { turn: turnRow(2, { events: text }) }),
        )

        const { history, inbox } = await scene.load(iid!)
        const end = ending(text)
        await runtime.turns(turnItem(iid!, { turn: turnRow(3), next: { kind: 'end', end } }))
        const rows = await scene.store.look([iid!, held!, first!])

        const kept = [
          history[0]!.events,
          history[1]!.events,
          inbox[0]!.payload,
          rows[0]!.output,
          rows[1]!.report,
          rows[2]!.output,
        ]
        // Not compared by the runner: a difference of megabytes takes it minutes to show.
        expect(kept.map((one) => one === text)).toEqual(kept.map(() => true))
      })
    }

    for (const [name, text] of Object.entries(ODD)) {
      test(`${name} comes back as it was, in all that goes with a start, a turn or a message`, async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const [iid] = await runtime.reserve(1)
        const state = (key: string) =>
          effects({ state: [{ key, value: text }], replies: [{ to: key, payload: text }] })

        await runtime.starts(
          runtime.startItem(iid!, {
            messages: [{ name: 'notes', payload: text }],
            effects: state('started'),
          }),
        )
        await runtime.turns(turnItem(iid!, { effects: { ...state('turned'), progress: text } }))
        // Of one channel, only the first of what is so large would be read.
        await scene.post(message(idOf(iid!), text, { name: 'others' }))

        const { progress } = await scene.look(iid!)
        const kept = [
          progress,
          ...(await scene.inboxOf(iid!)).map(({ payload }) => payload),
          ...(await scene.stateOf(iid!, 'started', 'turned')),
          ...(await scene.store.replies(['started', 'turned'])),
        ]
        expect(kept.map((one) => one === text)).toEqual(Array.from({ length: 7 }, () => true))
      })
    }

    for (const [name, text] of Object.entries(ODD_NAMES)) {
      test(`${name} is an id, a label and a name of a workflow like any other`, async () => {
        await using scene = await open()
        const workflow = { name: text, version: text }
        const { runtime, server, workflows } = await scene.store.register({
          leaseMs: LEASE_MS,
          workflows: [workflow, { name: 'order', version: '1' }],
          info: text,
        })
        const iid = await scene.store.reserve(2)
        const labels = JSON.stringify({ [text]: text })
        const starts = [text, `${text}${text}`].map((id, i) =>
          startItem(iid + i, { id, workflow: workflows[0]!, labels }),
        )

        const answer = await scene.store.commit({ runtime, server, starts, turns: [] })
        const [row, nobody] = await scene.store.find([text, `${text}?`])

        expect(answer).toMatchObject({ starts: ['done', 'done'] })
        expect(row).toMatchObject({ iid, id: text, workflow, labels })
        expect(nobody).toBe(undefined)
        expect(await scene.load(iid)).toMatchObject({ id: text, workflow })
        const [again] = await scene.store.workflowNumbers([workflow])
        expect(again).toBe(workflows[0])
        expect(await scene.store.resume([text])).toBe(0)
      })
    }

    for (const [name, text] of Object.entries(ODD_NAMES)) {
      test(`${name} is a channel, a key and an address like any other`, async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const [parent, iid] = await runtime.reserve(2)
        const link = childOf(parent!, { id: text })
        const state = [{ key: text, value: '1' }]
        const replies = [{ to: text, payload: '"yes"' }]
        await runtime.starts(
          runtime.startItem(parent!, { id: text }),
          runtime.startItem(iid!, { parent: link, effects: effects({ state, replies }) }),
        )
        const post = message(text, '1', { name: text, replyTo: text, dedupeKey: text })

        const verdicts = await scene.post(
          { ...post, capacity: 1 },
          post,
          { ...post, dedupeKey: '', capacity: 1 },
          { ...post, dedupeKey: '', name: `${text}?`, capacity: 1 },
        )

        expect(verdicts).toEqual(['sent', 'duplicate', 'full', 'sent'])
        expect((await scene.inboxOf(parent!))[0]).toMatchObject({ name: text, replyTo: text })
        expect((await scene.load(iid!)).parent).toEqual(link)
        expect(await scene.stateOf(iid!, text, `${text}?`)).toEqual(['1', undefined])
        expect(await scene.store.replies([text, `${text}?`])).toEqual(['"yes"', undefined])
        expect(await scene.store.suspend([`${text}?`, text], text)).toEqual([false, true])
        expect((await scene.look(parent!)).report).toBe(text)
      })
    }

    test('ids that look alike are different ones', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      // Composed and decomposed, upper and lower case, with and without a space, numbers.
      const ids = ['é', 'e\u0301', 'E', 'e', 'e ', ' e', 'ß', 'ss', '1', '01', '1.0', 'null', '%']
      const iids = await runtime.reserve(ids.length)

      const verdicts = await runtime.starts(
        ...iids.map((iid, i) => runtime.startItem(iid, { id: ids[i]! })),
      )

      expect(verdicts).toEqual(ids.map(() => 'done'))
      const rows = await scene.store.find(ids)
      expect(rows.map((row) => row?.iid)).toEqual(iids)
      expect(await scene.store.find(['', '_', 'ẞ'])).toEqual([undefined, undefined, undefined])
    })

    test('texts of one batch do not get mixed up', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const texts = ['', 'a', '', '', ',', '{}', '"', 'null', '\\', '']
      const iids = await runtime.own(texts.length)

      await runtime.turns(
        ...iids.map((iid, i) => turnItem(iid, { turn: turnRow(2, { events: texts[i]! }) })),
      )
      await scene.store.send(iids.map((iid, i) => result(iid, 1, texts[i])))

      const loaded = await scene.store.load(iids.map((iid) => ({ iid, after: 1 })))
      expect(loaded.map(({ history }) => history[0]!.events)).toEqual(texts)
      expect(loaded.map(({ inbox }) => inbox[0]!.payload)).toEqual(texts)
    })

    test('events come back as they were written', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)
      const events = [
        {
          type: 'started',
          workflow: 'o’order',
          version: '1',
          input: '{"a":"\\u0000"}',
          seed: '0123456789abcdef',
          parentId: '',
          state: '{"a":"1"}',
        },
        {
          type: 'activity',
          command: 1,
          name: 'pay',
          input: '"\\ud800"',
          where: 'local',
          tag: '',
          session: '',
        },
        { type: 'timer', command: 2, fireAt: 1_700_000_000_000 },
      ] as const

      const turn = turnRow(1, { events: writeEvents(events), count: 3 })
      await runtime.starts(runtime.startItem(iid!, { turn }))

      const { history } = await scene.load(iid!)
      expect(readEvents(history[0]!.events)).toEqual(events)
    })

    test('a text that cannot be stored affects no other batch: it is kept as it is, or all of its batch is rejected', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [bad, good] = await runtime.own(2)

      for (const [i, control] of ['\0', '\x01', '\x02'].entries()) {
        const before = await scene.state([bad!, good!], [runtime])
        const turn = turnRow(i + 2, { events: `a${control}b` })
        let code: string | undefined
        try {
          await runtime.turns(
            turnItem(bad!, { turn }),
            turnItem(good!, { turn: turnRow(i + 2, { events: 'good' }) }),
          )
        } catch (error) {
          code = error instanceof StoreError ? error.code : `not a StoreError: ${String(error)}`
        }

        if (code === undefined) {
          const loaded = await scene.store.load([bad!, good!].map((iid) => ({ iid, after: i + 1 })))
          expect(loaded.map(({ history }) => history[0]?.events)).toEqual([turn.events, 'good'])
        } else {
          expect(code).toBe('rejected')
          expect(await scene.state([bad!, good!], [runtime])).toEqual(before)
          await runtime.turns(turnItem(bad!, { turn: turnRow(i + 2) }))
          await runtime.turns(turnItem(good!, { turn: turnRow(i + 2) }))
        }
      }
    })
  })
}

/** A character of each of the seventeen planes, its first and last that can be used. */
const PLANES = Array.from({ length: 17 }, (_, plane) =>
  String.fromCodePoint(plane * 0x1_0000 + 0x20, plane * 0x1_0000 + 0xfffd),
).join('')

/** Every character of the first plane but the control characters and lone surrogates. */
const FIRST_PLANE = Array.from({ length: 0x1_0000 - 0x20 }, (_, i) => i + 0x20)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCharCode(code))
  .join('')

const ODD: Readonly<Record<string, string>> = {
  'an empty text': '',
  'a text of ten megabytes': 'ten bytes '.repeat(1 << 20),
  'a text of every Unicode plane': PLANES,
  'every character of the first plane': FIRST_PLANE,
  'a text with the separators of events': '\x1ea\x1fb\x1e\x1e\x1f\x1f',
  'a text with quotes and backslashes': `'"\`\\ '' "" \\' \\" \\\\ \\x00 \\u0000 $1 $$ ? :a @b {,} %s`,
  'a text with line breaks and tabs escaped': '{"a":"\\n\\r\\t\\u0000\\ud800"}',
}

const ODD_NAMES: Readonly<Record<string, string>> = {
  SQL: `'; drop table runs; --`,
  'SQL in double quotes': `"x" or 1=1; $$ delete from "instances" $$; /* \\`,
  'a text of every plane': PLANES,
  'a text that looks like a list': `{1,2,null,"a"}`,
  'a long text': 'long '.repeat(100),
  'a text of one space': ' ',
}
