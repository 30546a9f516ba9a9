// Histories of instances, as tests want to see them.

import type { HistoryEvent, Instance } from '../../src/index.ts'

/** All events of an execution; by default of the latest. */
export async function eventsOf(
  handle: Instance,
  options?: { execution?: number },
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = []
  for await (const event of handle.history(options)) events.push(event)
  return events
}

/** What happened, in words. */
export async function typesOf(handle: Instance): Promise<string[]> {
  return (await eventsOf(handle)).map(({ type }) => type)
}
