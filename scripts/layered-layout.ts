// Places the nodes of a graph without cycles in layers, each above all that it points to, and leads
// long edges past the nodes between. Nothing is random: the same graph gives the same layout.

export interface Edge {
  readonly from: string
  readonly to: string
}

export interface Place {
  /** Of the middle. */
  readonly x: number
  /** 0 for what points to nothing. */
  readonly layer: number
}

export interface Layout {
  readonly places: ReadonlyMap<string, Place>
  /** For each edge the places it passes, from its start to its end, one in each layer. */
  readonly paths: readonly (readonly Place[])[]
  readonly layers: number
  readonly width: number
}

/** A node, or the place where a long edge passes a layer. */
interface Slot {
  readonly width: number
  readonly layer: number
  x: number
  readonly above: Slot[]
  readonly below: Slot[]
}

const GAP = 16
const PASS_WIDTH = 6
const ROUNDS = 60

/** Lays out a graph. */
export function layOut(
  nodes: readonly string[],
  edges: readonly Edge[],
  widthOf: (node: string) => number,
): Layout {
  const layerOf = layersOf(nodes, edges)
  const layers: Slot[][] = []
  const add = (layer: number, width: number): Slot => {
    const slot: Slot = { width, layer, x: 0, above: [], below: [] }
    ;(layers[layer] ??= []).push(slot)
    return slot
  }
  const slots = new Map(nodes.map((node) => [node, add(layerOf(node), widthOf(node))]))
  const paths = edges.map(({ from, to }) => {
    const [first, last] = [slots.get(from)!, slots.get(to)!]
    const path = [first]
    for (let layer = first.layer - 1; layer > last.layer; layer--) path.push(add(layer, PASS_WIDTH))
    path.push(last)
    for (const [i, slot] of path.slice(1).entries()) {
      path[i]!.below.push(slot)
      slot.above.push(path[i]!)
    }
    return path
  })
  sortLayers(layers)
  const width = spread(layers)
  return { places: slots, paths, layers: layers.length, width }
}

function layersOf(nodes: readonly string[], edges: readonly Edge[]): (node: string) => number {
  const known = new Map<string, number>()
  const layerOf = (node: string): number => {
    const found = known.get(node)
    if (found !== undefined) return found
    const targets = edges.filter(({ from }) => from === node).map(({ to }) => layerOf(to))
    const layer = Math.max(-1, ...targets) + 1
    known.set(node, layer)
    return layer
  }
  for (const node of nodes) layerOf(node)
  return layerOf
}

/** Orders each layer by where its neighbours are, down and up again, and keeps the best order. */
function sortLayers(layers: Slot[][]): void {
  let best = layers.map((layer) => [...layer])
  let fewest = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const isDown = round % 2 === 0
    const sweep = isDown ? layers.toReversed() : layers
    for (const layer of sweep) {
      const index = positions(layers)
      const wanted = (slot: Slot): number =>
        mean((isDown ? slot.above : slot.below).map((one) => index.get(one)!)) ?? index.get(slot)!
      const keys = new Map(layer.map((slot) => [slot, wanted(slot)]))
      layer.sort((a, b) => keys.get(a)! - keys.get(b)!)
    }
    const count = crossings(layers)
    if (count < fewest) {
      fewest = count
      best = layers.map((layer) => [...layer])
    }
  }
  best.forEach((layer, i) => (layers[i] = layer))
}

/** Where each slot is in its layer, from 0 to 1. */
function positions(layers: readonly Slot[][]): Map<Slot, number> {
  return new Map(
    layers.flatMap((layer) => layer.map((slot, i) => [slot, (i + 0.5) / layer.length] as const)),
  )
}

function crossings(layers: readonly Slot[][]): number {
  const index = positions(layers)
  let count = 0
  for (const layer of layers) {
    const lines = layer.flatMap((from) =>
      from.below.map((to) => [index.get(from)!, index.get(to)!]),
    )
    for (const [i, [a, b]] of lines.entries()) {
      for (const [c, d] of lines.slice(i + 1)) if ((a! - c!) * (b! - d!) < 0) count++
    }
  }
  return count
}

/** Moves each slot towards its neighbours, as far as those beside it let it. Returns the width. */
function spread(layers: readonly Slot[][]): number {
  for (const layer of layers)
    pack(
      layer,
      layer.map((_, i) => i * 100),
    )
  for (let round = 0; round < ROUNDS; round++) {
    for (const layer of round % 2 === 0 ? layers : layers.toReversed()) {
      pack(
        layer,
        layer.map((slot) => mean([...slot.above, ...slot.below].map(({ x }) => x)) ?? slot.x),
      )
    }
  }
  const all = layers.flat()
  const left = Math.min(...all.map(({ x, width }) => x - width / 2))
  for (const slot of all) slot.x -= left
  return Math.max(...all.map(({ x, width }) => x + width / 2))
}

/** Puts slots as near to where they are wanted as their order and widths allow. */
function pack(layer: readonly Slot[], wanted: readonly number[]): void {
  const distance = (i: number): number => (layer[i]!.width + layer[i + 1]!.width) / 2 + GAP
  const fromLeft = [...wanted]
  for (let i = 1; i < layer.length; i++) {
    fromLeft[i] = Math.max(fromLeft[i]!, fromLeft[i - 1]! + distance(i - 1))
  }
  const fromRight = [...wanted]
  for (let i = layer.length - 2; i >= 0; i--) {
    fromRight[i] = Math.min(fromRight[i]!, fromRight[i + 1]! - distance(i))
  }
  // Both keep the distances, so their middle does as well.
  layer.forEach((slot, i) => (slot.x = (fromLeft[i]! + fromRight[i]!) / 2))
}

function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
