// Words that Holdfast once had for its parts, and the words it has now. The glossary
// (docs/reference/glossary.md) says what the present ones mean; `words.test.ts` finds the old ones.

/** One word that is no longer used. */
export interface OldWord {
  readonly old: RegExp
  readonly now: string
  /** Where it is looked for, if it is a fine word elsewhere. */
  readonly within?: RegExp
}

const ENGINE = /^(?:src\/engine|test\/engine)\/|^docs\/internals\/architecture/
/** Where `nobody` is not a made-up id: the code that is shipped. */
const INTERNALS = /^src\/(?!testing\/)(?!.*\.test\.ts$)|^docs\/(?:internals|reference)\//
const PAGES = /^(?:docs\/(?:guide|reference|internals)|README)/

export const OLD_WORDS: readonly OldWord[] = [
  { old: /\bset(?:s|ting)? (?:\w+ ){0,2}aside\b|\bset-?aside/gi, now: 'suspended' },
  { old: /\b(?:heldBy|isHeld|unheld)\b/g, now: 'owner, lease or deferred' },
  { old: /\bCop(?:y|ies)\b(?! of\b)/g, now: 'LiveInstance', within: ENGINE },
  { old: /\bcop(?:y|ies)\b/g, now: 'live instance', within: ENGINE },
  {
    old: /\b(?:[cC]onductors?|[sS]cribes?|[cC]arriers?|[dD]epartures)\b/g,
    now: 'InstanceScheduler, CommitWriter, CommandRunner, Eviction',
  },
  { old: /\bResting\b|\bresting\.ts\b/g, now: 'InstanceScheduler' },
  { old: /\b[tT]urners?\b|\b(?:take-turn|turn-row)\b/g, now: 'turn loop' },
  { old: /\b(?:[lL]ookouts?|[wW]orkforce)\b/g, now: 'WorkFinder, ActivityPool' },
  { old: /\bHearing(?:[A-Z]\w*)?\b|\bhearing\b(?! of\b)/g, now: 'HintListener, NotifierHealth' },
  { old: /\b(?:class|interface|type) Life\b|\blife\.ts\b/g, now: 'Registration' },
  { old: /\b[pP]ulses?\b/g, now: 'LoopHeartbeat' },
  { old: /\bOutgoing\b|\boutgoing\.ts\b|\b[eE]rrands?\b/g, now: 'RemoteCommands, RemoteCommand' },
  { old: /\bstrangers\b|\btruths\b/g, now: 'schema conflicts, flags', within: /^src\// },
  { old: /\babsences?\b|\b[aA]bsent\b/g, now: 'unstarted' },
  { old: /\b[eE]ars?\b/g, now: 'listen connection' },
  { old: /\bcareful(?:ly)?\b|CAREFUL|Careful/g, now: 'quarantined' },
  { old: /\boverrul\w*|[a-z]Overrul\w*/g, now: 'superseded' },
  {
    old: /\b(?:instance|instances|store|server) (?:is|was|were|are) set back\b|\b\w*[sS]etBack\b/g,
    now: 'rolled back',
  },
  { old: /\bhalves\b|\bHalves\b/g, now: 'batch splitter' },
  { old: /\b[pP]okers?\b/g, now: 'interval trigger' },
  { old: /\b(?:class|interface|type) Rest\b|\brest\.ts\b/g, now: 'wake wait' },
  {
    old: /\b(?:class|interface|type) (?:Given|Taken|Wanted|Sought|Happened|Standing|News|Called)\b/g,
    now: 'IssuedCommand, TurnOutput, LoadRequest, Target, Changes',
  },
  {
    old: /\b[gG]lances?\b|\b[tT]all(?:y|ies)\b|\b[mM]usters?\b/g,
    now: 'readCounters, QueueRow, reclaimDead',
  },
  { old: /\bstrikeOff\w*|\bstruck off\b/g, now: 'removeUnknownUsers' },
  {
    old: /\bMOST_\w+|\bmostInstances\b|\bsessions\.most\b/g,
    now: 'MAX_…, maxInstances, sessions.max',
  },
  { old: /\bwhole\(/g, now: 'toInt(' },
  { old: /\bUndelivered\b/g, now: 'UndeliveredMessages' },
  {
    old: /rejected unseen|object of texts|calendar reaches|half of a surrogate|stand at NaN/g,
    now: 'see the glossary',
  },
  { old: /\b(?:is|are) told\b|\bwhat nobody\b/gi, now: 'a plain sentence', within: PAGES },
  { old: /\bwhoever\b/gi, now: 'a runtime that, whichever runtime' },
  {
    old: /\b(?:is|are|was|were|be|been|being) told\b(?! apart\b)|\bunless told otherwise\b/gi,
    now: 'learns, gets a hint, gets an answer, by default',
  },
  { old: /\b(?:hears?|heard)\b/gi, now: 'receives, arrives' },
  {
    old: /\b(?:somebody|everybody)\b/gi,
    now: 'the runtime, process or caller that is meant',
  },
  {
    old: /\bcall(?:s|ed|ing)? (?:\w+ )?off\b|\bthe past is repeated\b|\bridden out\b|\bnever was\b/gi,
    now: 'cancelled, on replay, retried, never existed',
  },
  {
    old: /\b(?:test|describe)\b.*(?:\bone who\b|\bwhom\b|'who (?!runs)|\bthose who\b|\bnobody\b|\ball the same\b)/g,
    now: 'the runtime, process or caller that is meant; still, anyway',
    within: /^(?!src\/(?:\w+\/)?outbox\/).*\.test\.ts$|^src\/testing\//,
  },
  { old: /\bnobody\b/gi, now: 'no runtime, no process, no caller', within: INTERNALS },
  {
    old: /\bst(?:ands?|ood) still\b|\blook(?:s|ed|ing)? after\b|\bby and by\b|\bharms? nobody\b/gi,
    now: 'is blocked, renews, as they are called, does not affect',
  },
  { old: /\bfor ever\b/g, now: 'forever' },
  {
    old: /\b[tT]ellers?\b|\b(?:PlainNews|AskForNews|LeaseThreadNews|Parcel|isTold)\b/g,
    now: 'HintOrigin, DirectAnnouncement, ReadPendingWork, HintBatch, isNotified',
  },
]
