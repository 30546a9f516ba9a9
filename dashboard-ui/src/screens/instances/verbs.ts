import type { BulkVerb } from '../../../../src/dashboard/api.ts'
import type { IconName } from '../../ui/icon.tsx'

export interface Verb {
  readonly verb: BulkVerb
  readonly name: string
  readonly icon: IconName
  readonly danger?: true
  /** What it does to one instance, and to several. */
  readonly means: readonly [one: string, several: string]
}

/** What can be done to instances, in lists and on the screen of one. */
export const VERBS: readonly Verb[] = [
  {
    verb: 'resume',
    name: 'Resume',
    icon: 'play',
    means: ['If it is suspended, it continues.', 'Suspended ones continue.'],
  },
  {
    verb: 'suspend',
    name: 'Suspend',
    icon: 'pause',
    means: [
      'It pauses until it is resumed. Messages wait for it.',
      'They pause until they are resumed. Messages wait for them.',
    ],
  },
  {
    verb: 'cancel',
    name: 'Cancel',
    icon: 'close',
    danger: true,
    means: [
      'What it waits for is cancelled, and its clean-up runs.',
      'What they wait for is cancelled, and their clean-up runs.',
    ],
  },
  {
    verb: 'terminate',
    name: 'Terminate',
    icon: 'close',
    danger: true,
    means: ['It ends at once. No clean-up runs.', 'They end at once. No clean-up runs.'],
  },
  {
    verb: 'delete',
    name: 'Delete',
    icon: 'trash',
    danger: true,
    means: [
      'If it has ended, it is removed for good, with its children and its history.',
      'Those that have ended are removed for good, with their children and histories.',
    ],
  },
]
