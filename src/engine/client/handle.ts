import type { Iid } from '../../store/instances.ts'
import { definitionOf, type StateKey } from '../define/channels.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import { cancel, resume, suspend, terminate } from './admin-verbs.ts'
import type { ClientCore } from './client-core.ts'
import { exportExecution, fork, history } from './histories.ts'
import { info } from './info.ts'
import type { Instance } from '../define/instance.ts'
import { request } from './requests.ts'
import { resultOf } from './result.ts'
import { send } from './send.ts'
import { quietWhenClosed } from './waits.ts'
import { watch } from './watch.ts'

/** Creates the handle of an instance, with its number and workflow if the caller knows them. */
export function handle(
  core: ClientCore,
  id: string,
  iid: Iid | undefined,
  workflow: WorkflowDefinition | undefined,
): Instance {
  return {
    id,
    result: (given) => quietWhenClosed(() => resultOf(core, { id, iid, workflow }, given)),
    send: (channel, data, options) => send(core, id, channel, data, options),
    request: <R>(channel: unknown, input: unknown, options: Parameters<Instance['request']>[2]) =>
      quietWhenClosed(() => request(core, id, channel, input, options) as Promise<R>),
    cancel: (reason) => cancel(core, id, reason),
    terminate: (reason) => terminate(core, id, reason),
    suspend: (reason) => suspend(core, id, reason),
    resume: () => resume(core, id),
    info: () => info(core, id),
    watch: (options) => watch(core, id, options),
    readState: <T>(key: StateKey<T>) => readState(core, id, key) as Promise<T | undefined>,
    history: (options) => history(core, id, options),
    async fork(options) {
      const forked = await fork(core, id, options)
      return handle(core, forked.id, forked.iid, workflow)
    },
    export: (options) => exportExecution(core, id, options),
  }
}

async function readState(core: ClientCore, id: string, given: unknown): Promise<unknown> {
  const { name: key } = definitionOf('readState', 'state', given)
  await core.open()
  const [text] = await core.setup.store.readState([{ id, key }])
  if (text !== undefined) return core.setup.values.value(text)
  // Distinguishes a key without a value from an instance that does not exist.
  await core.existing('readState', id)
  return undefined
}
