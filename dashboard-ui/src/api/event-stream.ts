/** One message of a stream of server-sent events. */
export interface StreamMessage {
  readonly event: string
  readonly data: string
}

/** Reads messages. `EventSource` would do, but it cannot send the token. */
export async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as {
    read(): Promise<{ done: boolean; value?: string }>
    cancel(): Promise<void>
  }
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      text += value
      // Messages end with an empty line; a carriage return may be cut off from its line feed.
      const blocks = text.replaceAll('\r\n', '\n').split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const message = parse(block)
        if (message !== undefined) yield message
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parse(block: string): StreamMessage | undefined {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    // A comment keeps the connection open.
    if (colon === 0 || line === '') continue
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') event = value
    else if (field === 'data') data.push(value)
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n') }
}
