import { describe } from '../base/describe.ts'

/** What became of a message in one attempt. */
export type Outcome =
  | { readonly kind: 'done' }
  /** It was too late for it. */
  | { readonly kind: 'expired' }
  /**
   * To be tried again: after a time of the handler's choice, or after the backoff. `isShared`: a batch failed,
   * and the message to blame is unknown; `isFinal`: and another attempt of that message will not help.
   */
  | {
      readonly kind: 'retry'
      readonly afterMs: number | undefined
      readonly error: unknown
      readonly isShared?: boolean
      readonly isFinal?: boolean
    }
  /** It becomes a dead letter. */
  | { readonly kind: 'reject'; readonly reason: string }
  /** It becomes a dead letter without another attempt. */
  | { readonly kind: 'exhausted'; readonly reason: string }
  /** It was not tried, because one before it failed or the handler was stopped. */
  | { readonly kind: 'untried' }

export const DONE: Outcome = { kind: 'done' }
export const EXPIRED: Outcome = { kind: 'expired' }
export const UNTRIED: Outcome = { kind: 'untried' }

const MAX_REASON = 2_000
const MAX_CAUSES = 4

/** Why a message failed, short enough to be stored. Never throws, whatever was thrown. */
export function reasonOf(error: unknown): string {
  return shortReason(textOf(error))
}

/** A reason short enough to be stored. */
export function shortReason(text: string): string {
  return text.length <= MAX_REASON ? text : `${text.slice(0, MAX_REASON)}…`
}

function textOf(error: unknown): string {
  let text = partOf(error)
  const seen = new Set([error])
  // The reason of a `fetch` that failed is in its cause.
  for (let cause = causeOf(error); seen.size <= MAX_CAUSES; cause = causeOf(cause)) {
    if (cause === undefined || seen.has(cause)) break
    seen.add(cause)
    const part = partOf(cause, text)
    if (!text.includes(part)) text += `; cause: ${part}`
  }
  return text
}

/** One error, without its causes, and without a message that is part of `said`. */
function partOf(error: unknown, said = ''): string {
  try {
    if (typeof error !== 'object' || error === null) return describe(error)
    // Each may be anything, even a symbol.
    const { name, message, code } = error as Record<'name' | 'message' | 'code', unknown>
    if (!(error instanceof Error) && typeof message !== 'string') return describe(error)
    const parts = said.includes(String(message)) ? [name] : [name, message]
    const text = parts
      .filter((part) => part !== undefined && part !== '')
      .map(String)
      .join(': ')
    return typeof code !== 'string' || text.includes(code) ? text : `${text} (${code})`
  } catch {
    // A proxy, or a getter that throws.
    return describe(error)
  }
}

function causeOf(error: unknown): unknown {
  try {
    return error instanceof Error ? error.cause : undefined
  } catch {
    return undefined
  }
}
