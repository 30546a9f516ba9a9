// The pages: a fixed set of files, known by their whole path. No path is ever joined with what a request says.

import { answer } from './answer.ts'
import { Failure } from './failure.ts'
import { UI_FILES, type UiFile } from './ui-files.ts'

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
}

const INDEX = 'index.html'
const BASE = '<base href="/" />'

// From source, where nothing was built.
const UNBUILT: Readonly<Record<string, UiFile>> = {
  [INDEX]: {
    text: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    ${BASE}
    <title>Holdfast</title>
  </head>
  <body>
    <h1>Holdfast</h1>
    <p>The pages of the dashboard are not built: run <code>npm run build</code>.</p>
    <p>Its <a href="api/overview">data</a> is here.</p>
  </body>
</html>
`,
  },
}

/** Answers with the pages. */
export class Pages {
  readonly #files: ReadonlyMap<string, UiFile>
  readonly #index: string

  /** @param basePath without a slash at the end, checked: it is written into HTML */
  constructor(basePath: string, files: Readonly<Record<string, UiFile>> = UI_FILES ?? UNBUILT) {
    this.#files = new Map(Object.entries(files))
    const index = this.#files.get(INDEX)
    if (index === undefined || !('text' in index) || !index.text.includes(BASE)) {
      throw new Error(`the pages of the dashboard lack ${INDEX} with ${BASE}`)
    }
    this.#index = index.text.replace(BASE, `<base href="${basePath}/" />`)
  }

  /** The file of this path; the index for every other path, which the pages then look at themselves. */
  get(path: string): Response {
    const file = path === INDEX ? undefined : this.#files.get(path)
    if (file !== undefined) {
      const body = 'text' in file ? file.text : new Uint8Array(Buffer.from(file.base64, 'base64'))
      // Their names change with their content.
      const keep = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
      return answer(200, body, { 'content-type': typeOf(path), 'cache-control': keep })
    }
    if (path.startsWith('assets/')) {
      throw new Failure('not_found', 'there is no such file: reload the page')
    }
    return answer(200, this.#index, { 'content-type': TYPES['html']!, 'cache-control': 'no-cache' })
  }
}

function typeOf(path: string): string {
  const extension = path.slice(path.lastIndexOf('.') + 1)
  return TYPES[extension] ?? 'application/octet-stream'
}
