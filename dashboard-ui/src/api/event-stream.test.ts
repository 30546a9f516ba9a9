import { expect, test } from 'vitest'

import { messagesOf } from './event-stream.ts'

async function read(...chunks: string[]): Promise<unknown[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
  const messages = []
  for await (const message of messagesOf(body)) messages.push(message)
  return messages
}

test('messages are read however the stream is cut', async () => {
  const whole = 'event: change\ndata: {"a":\ndata: "ü"}\n\n: ping\n\ndata: x\n\n'

  const expected = [
    { event: 'change', data: '{"a":\n"ü"}' },
    { event: 'message', data: 'x' },
  ]
  expect(await read(whole)).toEqual(expected)
  expect(await read(...Array.from(whole))).toEqual(expected)
})

test('a message without its end is left out', async () => {
  expect(await read('data: one\n\ndata: tw')).toEqual([{ event: 'message', data: 'one' }])
})
