import { nonDurableWrite, read, write } from '../file/operation.ts'
import {
  cleanupDeadLetters,
  discardDeadLetters,
  rejectDeadLetters,
  replayDeadLetters,
  requeueDeadLetters,
  resolveDeadLetters,
} from './dead-letter-verbs.ts'
import { countDeadLetters, findDeadLetters } from './dead-letters.ts'
import { moveDelayed } from './delayed.ts'
import { lookForWork } from './look.ts'
import { outboxOutlook } from './outlook.ts'
import { removeDone } from './remove-done.ts'
import { openOutbox } from './schema.ts'
import { outboxStats } from './stats.ts'
import { takeSteps } from './steps.ts'
import { outboxTick } from './tick.ts'
import { tidy } from './tidy.ts'
import { allTopics, registerTopics } from './topics.ts'

/** What the thread can be asked to do with an outbox, whose prefix comes first. */
export const OUTBOX_OPERATIONS = {
  outboxOpen: write(openOutbox),
  outboxTopics: write(registerTopics),
  outboxAllTopics: read(allTopics),
  // Claims as well: an epoch that power loss takes back would be given out twice.
  outboxSteps: write(takeSteps),
  outboxLook: read(lookForWork),
  outboxOutlook: read(outboxOutlook),
  outboxMoveDelayed: write(moveDelayed),
  outboxTick: nonDurableWrite(outboxTick),
  // What is removed and comes back with a power loss is removed again.
  outboxRemoveDone: nonDurableWrite(removeDone),
  outboxTidy: nonDurableWrite(tidy),
  outboxStats: read(outboxStats),
  outboxDeadLetters: read(findDeadLetters),
  outboxCountDeadLetters: read(countDeadLetters),
  outboxReplayDeadLetters: write(replayDeadLetters),
  outboxRequeueDeadLetters: write(requeueDeadLetters),
  outboxResolveDeadLetters: write(resolveDeadLetters),
  outboxRejectDeadLetters: write(rejectDeadLetters),
  outboxDiscardDeadLetters: write(discardDeadLetters),
  outboxCleanupDeadLetters: write(cleanupDeadLetters),
}
