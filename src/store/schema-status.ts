/** How the tables of a store compare with this version of Holdfast. */
export interface SchemaStatus {
  /**
   * `missing`: there are none · `behind`: opening the store upgrades them · `current`: up to date ·
   * `ahead`: a newer version upgraded them, and this version works with them · `refused`: this version
   * cannot use them.
   */
  readonly state: 'missing' | 'behind' | 'current' | 'ahead' | 'refused'
  /** The same in words. */
  readonly detail: string
  /** The names of what an upgrade would apply, in order. */
  readonly missing: readonly string[]
}
