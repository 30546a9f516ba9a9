import type { AttemptOutcome } from '../../core/engine-meter.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { ActivityCall } from './activity-call.ts'

/** Makes an attempt, measures it, and reports its span. */
export function observeAttempt(
  { clock, meter, tracer }: RuntimeCore,
  call: ActivityCall,
  run: () => AttemptEnd | Promise<AttemptEnd>,
): AttemptEnd | Promise<AttemptEnd> {
  const begunMs = clock.now()
  const kind = call.called.step === undefined ? 'activity' : 'step'
  // Its code runs in the span, so that spans of that code are children of it.
  call.span = tracer?.attempt(kind, call.keys, call.origin)
  const over = (end: AttemptEnd): AttemptEnd => {
    const outcome = outcomeOf(call, end)
    meter?.attempt(call.called.name, outcome, clock.now() - begunMs)
    const hasFailed = outcome === 'failed' || outcome === 'retried'
    call.span?.end({
      attributes: { 'holdfast.outcome': outcome },
      ...(hasFailed && { error: call.thrown ?? new Error('no error') }),
    })
    return end
  }
  const ending = run()
  return ending instanceof Promise ? ending.then(over) : over(ending)
}

function outcomeOf(call: ActivityCall, { kind }: AttemptEnd): AttemptOutcome {
  if (kind === 'completed' || kind === 'stored') return 'completed'
  // Its instance was cancelled, or its runtime closes: that says nothing about the activity.
  if (call.isStopped) return 'aborted'
  return kind === 'retry' ? 'retried' : 'failed'
}
