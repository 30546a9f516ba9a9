/** Which store a URL means. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

/** Reads the URL of a store. Throws a `TypeError` that begins with `what` for any other text. */
export function parseStoreUrl(url: string, what: string): StoreAddress {
  if (url === 'memory:') return { kind: 'sqlite', path: ':memory:' }
  if (url.startsWith('file:')) return { kind: 'sqlite', path: url.slice('file:'.length) }
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgres', url }
  // It may contain a password: show only the scheme.
  const scheme = /^[a-z+]+:/i.exec(url)?.[0]
  const hint = scheme === undefined ? `did you mean "file:${url}"?` : `got "${scheme}…"`
  throw new TypeError(
    `${what}: the store must begin with "file:", "memory:" or "postgres://", ${hint}`,
  )
}
