// Draws which folder of `src` imports which, as docs/internals/import-graph.svg: `npm run graph`.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { circles, folderImports, readSources, type Sources } from '../test/import-graph.ts'
import { layOut, type Edge, type Layout } from './layered-layout.ts'

/** Where the picture is, from the repository's root. */
export const PICTURE = 'docs/internals/import-graph.svg'

const NODE_HEIGHT = 26
const LAYER_HEIGHT = 74
const MARGIN = 24
const CAPTION_HEIGHT = 44
const CHARACTER_WIDTH = 7.3

/** Fill and border, by the first folder below `src`. */
const COLOURS: Readonly<Record<string, readonly [fill: string, border: string]>> = {
  base: ['#f1f3f5', '#868e96'],
  workers: ['#e6fcf5', '#0ca678'],
  store: ['#fff9db', '#f08c00'],
  watchdog: ['#fff4e6', '#e8590c'],
  engine: ['#e7f5ff', '#1c7ed6'],
  queue: ['#f3f0ff', '#7048e8'],
  postgres: ['#ebfbee', '#2f9e44'],
  sqlite: ['#f4fce3', '#66a80f'],
  testing: ['#fff0f6', '#d6336c'],
}
const OTHER = ['#ffffff', '#343a40'] as const

/** The picture, as SVG. The same sources always give the same text. */
export function drawImportGraph(sources: Sources): string {
  const graph = readGraph(sources)
  const layout = layOut(graph.folders, graph.edges, widthOf)
  const width = Math.round(layout.width + 2 * MARGIN)
  const height = (layout.layers - 1) * LAYER_HEIGHT + NODE_HEIGHT + 2 * MARGIN + CAPTION_HEIGHT
  const yOf = (layer: number): number =>
    MARGIN + CAPTION_HEIGHT + (layout.layers - 1 - layer) * LAYER_HEIGHT
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12">`,
    `<!-- Drawn by \`npm run graph\` from the imports in src. Do not edit. -->`,
    `<title>Which folder of src imports which</title>`,
    `<defs>${marker('arrow', '#495057')}${marker('cycle', '#e03131')}</defs>`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...caption(graph.tangled.length > 0),
    ...graph.edges.map((edge, i) => drawEdge(layout.paths[i]!, edge, yOf)),
    ...graph.tangled.map((edge) => drawTangled(edge, layout, yOf)),
    ...graph.folders.map((folder) => drawFolder(folder, layout.places.get(folder)!, yOf)),
    '</svg>',
    '',
  ].join('\n')
}

interface Graph {
  readonly folders: readonly string[]
  /** What remains of the imports when those that a longer path implies are left out. */
  readonly edges: readonly Edge[]
  /** Imports between folders that import each other. There should be none. */
  readonly tangled: readonly Edge[]
}

function readGraph(sources: Sources): Graph {
  // The entries of subpaths join features and adapters, which do not depend on each other.
  const inner = new Map([...sources].filter(([file]) => !/^src\/.+\/index\.ts$/.test(file)))
  const imports = folderImports(inner)
  const all = new Map(
    [...imports]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, to]) => [from, new Set([...to.keys()].filter((one) => imports.has(one)))]),
  )
  const groups = circles(all)
  const areTangled = (from: string, to: string): boolean =>
    groups.some((group) => group.includes(from) && group.includes(to))
  const edges = [...all].flatMap(([from, targets]) =>
    [...targets].toSorted().map((to): Edge => ({ from, to })),
  )
  const straight = edges.filter(({ from, to }) => !areTangled(from, to))
  return {
    folders: [...all.keys()],
    edges: reduce(straight),
    tangled: edges.filter(({ from, to }) => areTangled(from, to)),
  }
}

/** Without the edges that a path of other edges implies. */
function reduce(edges: readonly Edge[]): Edge[] {
  const leaving = (node: string): Edge[] => edges.filter(({ from }) => from === node)
  const reaches = (from: string, to: string): boolean =>
    leaving(from).some((edge) => edge.to === to || reaches(edge.to, to))
  return edges.filter(
    ({ from, to }) => !leaving(from).some((other) => other.to !== to && reaches(other.to, to)),
  )
}

function label(folder: string): string {
  return folder === 'src' ? 'index.ts' : folder.slice('src/'.length)
}

function widthOf(folder: string): number {
  return Math.round(label(folder).length * CHARACTER_WIDTH + 20)
}

function drawFolder(
  folder: string,
  { x, layer }: { readonly x: number; readonly layer: number },
  yOf: (layer: number) => number,
): string {
  const [fill, border] = COLOURS[folder.split('/')[1] ?? ''] ?? OTHER
  const width = widthOf(folder)
  const left = Math.round(MARGIN + x - width / 2)
  const y = yOf(layer)
  return (
    `<rect x="${left}" y="${y}" width="${width}" height="${NODE_HEIGHT}" rx="5" fill="${fill}" stroke="${border}"/>` +
    `<text x="${Math.round(MARGIN + x)}" y="${y + 17}" text-anchor="middle" fill="#212529">${label(folder)}</text>`
  )
}

/** A curve from the lower edge of a folder, past those between, to the upper edge of another. */
function drawEdge(
  path: Layout['paths'][number],
  { from, to }: Edge,
  yOf: (layer: number) => number,
): string {
  const [start, ...rest] = path.map(({ x, layer }) => ({
    x: Math.round(MARGIN + x),
    y: yOf(layer),
  }))
  let { x, y } = { x: start!.x, y: start!.y + NODE_HEIGHT }
  let line = `M${x} ${y}`
  for (const [i, point] of rest.entries()) {
    const isLast = i === rest.length - 1
    const end = isLast ? point.y - 2 : point.y
    const middle = Math.round((y + end) / 2)
    line += ` C${x} ${middle} ${point.x} ${middle} ${point.x} ${end}`
    if (!isLast) line += ` V${point.y + NODE_HEIGHT}`
    ;({ x, y } = { x: point.x, y: point.y + NODE_HEIGHT })
  }
  return `<path d="${line}" fill="none" stroke="#adb5bd" marker-end="url(#arrow)"><title>${label(from)} imports ${label(to)}</title></path>`
}

function drawTangled(
  { from, to }: Edge,
  { places }: Layout,
  yOf: (layer: number) => number,
): string {
  const [a, b] = [places.get(from)!, places.get(to)!]
  const [x1, x2] = [Math.round(MARGIN + a.x), Math.round(MARGIN + b.x)]
  const [y1, y2] = [yOf(a.layer) + NODE_HEIGHT / 2, yOf(b.layer) + NODE_HEIGHT / 2]
  return `<path d="M${x1} ${y1} Q${Math.round((x1 + x2) / 2)} ${Math.min(y1, y2) - 40} ${x2} ${y2}" fill="none" stroke="#e03131" marker-end="url(#cycle)"><title>${label(from)} imports ${label(to)}, and the other way round</title></path>`
}

function caption(hasTangled: boolean): string[] {
  const lines = [
    'An arrow points from a folder to one that it imports, by value or by type. Imports that a path of',
    `arrows implies are left out, and so are the entries of subpaths (src/*/index.ts).${hasTangled ? ' Red: import each other.' : ''}`,
  ]
  return lines.map(
    (line, i) => `<text x="${MARGIN}" y="${MARGIN + 4 + i * 17}" fill="#495057">${line}</text>`,
  )
}

function marker(id: string, colour: string): string {
  return `<marker id="${id}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="${colour}"/></marker>`
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, '..')
  writeFileSync(join(root, PICTURE), drawImportGraph(readSources(root)))
}
