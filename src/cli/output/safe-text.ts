// Ids, labels, errors and payloads come from workflows, and so from anyone: none of their characters may
// reach a terminal as a command to it, or change the order in which other text is shown.

/** Terminal control characters, bidirectional controls, separators that break lines, and lone surrogates. */
const UNSAFE =
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu

/** Text for one line of a terminal: what could control it is written as an escape. */
export function safeText(text: string): string {
  return text.replaceAll(UNSAFE, escaped)
}

/** The same for text of several lines, which stay lines. */
export function safeLines(text: string): string {
  return text.split(/\r?\n/).map(safeText).join('\n')
}

/** JSON with the same characters escaped; it still means the same. */
export function safeJson(json: string): string {
  return json.replaceAll(UNSAFE, (char) => (char === '\n' ? char : unicode(char)))
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(char: string): string {
  return SHORT[char] ?? unicode(char)
}

function unicode(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}
