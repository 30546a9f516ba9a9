// How many columns text takes on a terminal.

const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' })
// eslint-disable-next-line no-control-regex -- plain ASCII is the common case
const PLAIN = /^[\u0020-\u007e]*$/
/** Scripts of East Asia and pictures take two columns. */
const WIDE =
  /^(?:\p{Script=Han}|\p{Script=Hangul}|\p{Script=Hiragana}|\p{Script=Katakana}|[\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|.\ufe0f)/u

/** Columns that text takes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of GRAPHEMES.segment(text)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** Text that takes at most so many columns; what is left out is shown as `…`. */
export function fit(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text
  let fitting = ''
  let width = 0
  for (const { segment } of GRAPHEMES.segment(text)) {
    width += WIDE.test(segment) ? 2 : 1
    if (width > columns - 1) break
    fitting += segment
  }
  return `${fitting}…`
}

/** Text followed by spaces, up to so many columns. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - textWidth(text)))
}
