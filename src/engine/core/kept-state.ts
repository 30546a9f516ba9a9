/** One value of an instance's state: encoded, with the time of the turn that set it. */
export interface KeptValue {
  readonly value: string
  readonly at: number
}

/** Reads what `writeKeptState` wrote. */
export function readKeptState(text: string): Map<string, KeptValue> {
  if (text === '') return new Map()
  const entries = JSON.parse(text) as readonly [key: string, value: string, at: number][]
  return new Map(entries.map(([key, value, at]) => [key, { value, at }]))
}

/** Writes the state that an execution begins with, for its first event; empty for none. */
export function writeKeptState(state: ReadonlyMap<string, KeptValue>): string {
  if (state.size === 0) return ''
  return JSON.stringify([...state].map(([key, { value, at }]) => [key, value, at]))
}
