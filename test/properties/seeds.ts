import { vi } from 'vitest'

import { Dice, type Part, randomProgram } from '../support/programs.ts'
import { type RandomInstance, live } from './random-instance.ts'

// HOLDFAST_PROPERTY_RUNS for more programs, HOLDFAST_PROPERTY_SEED for one that failed.
const RUNS = Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 800)
const SEED = process.env['HOLDFAST_PROPERTY_SEED']

/** Whether one program is looked at that failed. */
export const one = SEED !== undefined

/** How often something must occur among many programs; a single one proves nothing. */
export function ofMany(often: number): number {
  return one ? -1 : often
}

// On a machine that is busy with others.
vi.setConfig({ testTimeout: 60_000 + RUNS * 60 })

// A life is lived once and looked at by all tests of a file.
const lives = new Map<number, Promise<RandomInstance>>()

/** Makes a program per seed, and returns how many; an error says which one it was. */
export async function forPrograms(
  check: (program: Part, dice: Dice, seed: number) => Promise<void>,
  share = 1,
): Promise<number> {
  const runs = Math.ceil(RUNS * share)
  const seeds = SEED === undefined ? Array.from({ length: runs }, (_, i) => i) : [Number(SEED)]
  for (const seed of seeds) {
    const dice = new Dice(seed)
    const program = randomProgram(dice, 3 + dice.below(30))
    try {
      await check(program, dice, seed)
    } catch (error) {
      const about = `HOLDFAST_PROPERTY_SEED=${seed}: ${JSON.stringify(program)}`
      throw new Error(`${about}\n${(error as Error).message}`, { cause: error })
    }
  }
  return seeds.length
}

/** Looks at the life of a program per seed. */
export function forLives(
  check: (registration: RandomInstance, program: Part, dice: Dice) => void | Promise<void>,
  share = 1,
): Promise<number> {
  return forPrograms(async (program, dice, seed) => {
    let registration = lives.get(seed)
    if (registration === undefined) lives.set(seed, (registration = live(program, dice)))
    await check(await registration, program, new Dice(seed))
  }, share)
}
