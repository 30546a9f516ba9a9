/** Things that are cleared away at the end, the last one first. */
export interface CleanUp extends AsyncDisposable {
  use<T extends AsyncDisposable>(thing: T): T
  defer(clear: () => PromiseLike<void>): void
}

export function cleanUp(): CleanUp {
  const clears: (() => PromiseLike<void>)[] = []
  return {
    use(thing) {
      clears.push(() => thing[Symbol.asyncDispose]())
      return thing
    },
    defer: (clear) => void clears.push(clear),
    async [Symbol.asyncDispose]() {
      for (const clear of clears.toReversed()) await clear()
    },
  }
}
