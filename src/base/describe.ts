/** A short, safe rendering of any value for an error message. */
export function describe(value: unknown): string {
  try {
    return render(value)
  } catch {
    // A getter or a proxy that throws.
    return `${typeof value === 'function' ? 'a function' : 'an object'} that cannot be read`
  }
}

function render(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 80 ? value.slice(0, 80) + '…' : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') {
    const name: unknown = value.name
    return isName(name) ? `a function (${name})` : 'a function'
  }
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null) {
    const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name
    return isName(name) && name !== 'Object' ? withArticle(name) : 'an object'
  }
  return String(value)
}

// Names with U, such as Uint8Array and URL, mostly begin like `you`.
function withArticle(name: string): string {
  return `${/^[aeio]/i.test(name) ? 'an' : 'a'} ${name}`
}

// A class may hide the name of its constructor behind a static member of its own.
function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== ''
}
