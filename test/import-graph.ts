import { readdirSync, readFileSync } from 'node:fs'
import { posix, join, sep } from 'node:path'

/** Source texts by path from the repository's root, with `/`: `src/base/time/clock.ts`. */
export type Sources = ReadonlyMap<string, string>

export interface Import {
  /** A path like the keys of `Sources`, or the name of a package or builtin. */
  readonly target: string
  /** Gone at run time, so it cannot close a cycle. */
  readonly typeOnly: boolean
}

export interface Walls {
  /** Folder under `src/` to the folders it may import. A nested folder can have a narrower row. */
  readonly folders: Readonly<Record<string, readonly string[]>>
  /** Folder to the packages it may import. */
  readonly packages: Readonly<Record<string, readonly string[]>>
  /** Folders that import no packages and no builtins. */
  readonly pure: readonly string[]
  /** Folders that no other imports, and that may import entries. */
  readonly apps: readonly string[]
  /** The public entries: they join what may not meet elsewhere. */
  readonly entries: readonly string[]
}

export function readSources(root: string): Sources {
  return new Map(
    readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => [
        `src/${path.split(sep).join('/')}`,
        readFileSync(join(root, 'src', path), 'utf8'),
      ]),
  )
}

// Strings are matched too, so that `//` in a URL does not count as the start of a comment.
const STRING_OR_COMMENT =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/.*/g
const STATIC = /^(?:import|export)( type)?\b(?:[^'"`=();]*?\bfrom)?\s*['"]([^'"\n]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"`]([^'"`\n]+)['"`]/g

/**
 * What a file imports, by the forms the formatter leaves: statements at the start of a line.
 *
 * `import { type X } from` is not type-only: with `verbatimModuleSyntax` the import itself stays.
 */
export function importsOf(path: string, text: string): Import[] {
  const code = text.replace(STRING_OR_COMMENT, (match) => (match.startsWith('/') ? '' : match))
  const found = [
    ...[...code.matchAll(STATIC)].map((match) => ({ name: match[2]!, typeOnly: !!match[1] })),
    ...[...code.matchAll(DYNAMIC)].map((match) => ({ name: match[1]!, typeOnly: false })),
  ]
  return found.map(({ name, typeOnly }) => ({ target: resolve(path, name), typeOnly }))
}

function resolve(from: string, name: string): string {
  if (name.startsWith('.')) return posix.join(posix.dirname(from), name)
  if (name === 'holdfast') return 'src/index.ts'
  if (name.startsWith('holdfast/')) return `src/${name.slice('holdfast/'.length)}/index.ts`
  return name
}

/** Every import that the walls forbid, as `file -> target`, and every file outside the table. */
export function strays(sources: Sources, walls: Walls): string[] {
  return [...sources].flatMap(([file, text]) => {
    if (rowOf(file, walls) === undefined) return [`${file} is in no folder of the table`]
    return importsOf(file, text)
      .filter(({ target }) => !mayImport(file, target, walls))
      .map(({ target }) => `${file} -> ${target}`)
  })
}

// The main entry and its tests belong to no folder: their row is ''.
function rowOf(file: string, { folders }: Walls): string | undefined {
  if (/^src\/index(\.test(-d)?)?\.ts$/.test(file)) return ''
  return Object.keys(folders)
    .filter((folder) => isIn(folder, file))
    .toSorted((a, b) => b.length - a.length)[0]
}

function mayImport(file: string, target: string, walls: Walls): boolean {
  const row = rowOf(file, walls)!
  const isTest = isTestFile(file)
  if (target.startsWith('node:')) return isTest || !walls.pure.includes(row)
  if (!target.startsWith('src/')) return isTest || (walls.packages[row] ?? []).includes(target)

  const intoEntry = walls.entries.includes(target)
  if (intoEntry && walls.apps.includes(row)) return true
  const intoApp = walls.apps.some((app) => app !== row && isIn(app, target))
  if (intoApp) return false
  if (posix.basename(target) === 'index.ts' && !isTest) return false
  if (row === '' || walls.entries.includes(file)) return true
  // A test may use all that the widest row around it may, such as another room of the engine.
  const widest = isTest ? row.split('/')[0]! : row
  const reach = [widest, ...(walls.folders[widest] ?? []), ...(isTest ? ['testing'] : [])]
  return reach.some((folder) => isIn(folder, target))
}

function isTestFile(file: string): boolean {
  return /\.test(-d)?\.ts$/.test(file)
}

function isIn(folder: string, path: string): boolean {
  return path.startsWith(`src/${folder}/`)
}

/** Groups of files that import each other by value, each group sorted. */
export function cycles(sources: Sources): string[][] {
  return circles(
    new Map(
      [...sources].map(([file, text]) => [
        file,
        new Set(
          importsOf(file, text).flatMap(({ target, typeOnly }) => (typeOnly ? [] : [target])),
        ),
      ]),
    ),
  )
}

/** The imports of each folder from other folders, by file, types included. Tests do not count. */
export function folderImports(sources: Sources): Map<string, Map<string, string[]>> {
  const folders = new Map<string, Map<string, string[]>>()
  for (const [file, text] of sources) {
    if (isTestFile(file)) continue
    const folder = posix.dirname(file)
    const imports = folders.get(folder) ?? new Map<string, string[]>()
    folders.set(folder, imports)
    for (const { target } of importsOf(file, text)) {
      const other = posix.dirname(target)
      if (!target.startsWith('src/') || other === folder) continue
      imports.set(other, [...(imports.get(other) ?? []), `${file} -> ${target}`])
    }
  }
  return folders
}

/** Groups of folders that import each other, even by types alone, each with the imports that do so. */
export function folderCycles(sources: Sources): { folders: string[]; imports: string[] }[] {
  const all = folderImports(sources)
  const edges = new Map([...all].map(([folder, imports]) => [folder, new Set(imports.keys())]))
  return circles(edges).map((folders) => ({
    folders,
    imports: folders.flatMap((from) => folders.flatMap((to) => all.get(from)!.get(to) ?? [])),
  }))
}

/** Groups of nodes that reach each other, each group sorted. */
export function circles(edges: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  // Tarjan: a node that reaches nothing older than itself closes a strongly connected group.
  const age = new Map<string, number>()
  const open: string[] = []
  const found: string[][] = []
  const visit = (node: string): number => {
    const own = age.size
    age.set(node, own)
    open.push(node)
    let oldest = own
    for (const target of edges.get(node) ?? []) {
      if (!edges.has(target)) continue
      if (!age.has(target)) oldest = Math.min(oldest, visit(target))
      else if (open.includes(target)) oldest = Math.min(oldest, age.get(target)!)
    }
    if (oldest === own) {
      const group = open.splice(open.indexOf(node))
      if (group.length > 1 || edges.get(node)!.has(node)) found.push(group.toSorted())
    }
    return oldest
  }
  for (const node of edges.keys()) if (!age.has(node)) visit(node)
  return found
}
