/** Longest reason that is kept with a message, a cancellation or a suspension, in UTF-16 units. */
export const MAX_REASON = 4_096

/** Room for what is written in place of the rest. */
const NOTE = 40

/**
 * Text of at most `max` characters, with a note of how much is left out. Never longer than `max`, so
 * that shortening again changes nothing; a pair of surrogates is not torn apart.
 */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  let kept = max - NOTE
  if (isHighSurrogate(text.charCodeAt(kept - 1))) kept--
  return `${text.slice(0, kept)}… (${text.length - kept} more characters)`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
