// A message to an instance carries the context of the span that sent it behind its value, after a control
// character, which no encoded value contains. Without tracing there is nothing to carry.

const SEPARATOR = '\x1f'

/** What is stored of a message: its encoded value, and the context of its sender, if it has one. */
export function tracedPayload(value: string, context: string | undefined): string {
  return context === undefined || context === '' ? value : value + SEPARATOR + context
}

/** The two parts of what `tracedPayload` wrote. */
export function readTracedPayload(payload: string): {
  readonly value: string
  readonly trace: string | undefined
} {
  const end = payload.lastIndexOf(SEPARATOR)
  if (end < 0) return { value: payload, trace: undefined }
  return { value: payload.slice(0, end), trace: payload.slice(end + 1) }
}
