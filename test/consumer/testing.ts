import { activity, workflow } from 'holdfast'
import {
  type ActivityRun,
  crashEverywhere,
  type CrashReport,
  checkAgainst,
  type CheckProgress,
  checkReplay,
  type CutOn,
  describeOutboxStore,
  describeWorkflowStore,
  type Fault,
  type FaultyPostgres,
  faultyPostgres,
  type Injected,
  openTest,
  type OutboxUnderTest,
  type PostgresProxy,
  postgresProxy,
  type ProxyCounts,
  runActivity,
  simulate,
  type SimulationReport,
  skewClock,
  type StoreUnderTest,
  stub,
  stubStep,
  sweepTestSchemas,
  type TestRunner,
  type TestRuntime,
  type TestSchema,
  testSchema,
  type UpgradeFinding,
  type UpgradeReport,
  virtualClock,
} from 'holdfast/testing'

// The kit opens a database, so these are only called by tests.
const mail = activity('mail', async (to: string) => to.length)
const hello = workflow('hello', async (to: string, ctx) => ctx.run(mail, to))
const stubs = [stub(mail, (to) => to.length), stubStep('save', () => 1, { optional: true })]
export const opened = (): Promise<TestRuntime> => openTest({ register: hello, stubs })
export const ran = (): Promise<ActivityRun<number>> => runActivity(mail, 'kim', { attempt: 2 })
export const crashed = (): Promise<CrashReport> =>
  crashEverywhere(() => ({
    register: hello,
    stubs,
    scenario: (t) => t.run(hello, 'kim'),
    check: (length: number) => void length.toFixed(),
  }))

export const simulated = (): Promise<SimulationReport> =>
  simulate({ register: hello, stubs, runs: 5, scenario: (client) => client.run(hello, 'kim') })

export const clock = virtualClock()
export const advanced = clock.advance('1h')

// Any test runner will do; this one runs nothing.
export const names: string[] = []
const runner: TestRunner = {
  describe: (_name, body) => body(),
  test: (name) => names.push(name),
  expect: () => {
    throw new Error('no test runs here')
  },
}
describeWorkflowStore(
  'my store',
  (): Promise<StoreUnderTest> => Promise.reject(new Error('none')),
  runner,
)
describeOutboxStore(
  'my outbox',
  (): Promise<OutboxUnderTest> => Promise.reject(new Error('none')),
  runner,
  { canOverlap: true },
)

// Faults: these two connect to nothing until they are used.
export const store: FaultyPostgres = faultyPostgres({ url: 'postgres://localhost/shop' })
export const lost: Fault = { of: 'commit_batch', sqlState: '08006', when: 'after', share: 0.1 }
export const injected: Injected = store.inject(lost)
export const struck: number = injected.struck
export const closed: Promise<void> = store.close()

export const cut: CutOn = { text: 'commit_batch', at: 'answer' }
export const passed: Promise<ProxyCounts> = postgresProxy('postgres://localhost/shop').then(
  async (proxy: PostgresProxy) => {
    void proxy.cutOn(cut)
    proxy.latency({ toServer: '35ms', toClient: '35ms' })
    await proxy.close()
    return proxy.counts
  },
)

const skewed = skewClock({ ahead: '1h' })
skewed.set({ behind: '5m' })
skewed[Symbol.dispose]()

export async function inSchema(url: string): Promise<string> {
  await sweepTestSchemas({ url, olderThan: '2h' })
  const place: TestSchema = await testSchema({ url, prefix: 'shop' })
  await place.drop()
  return place.schema
}

// The gate for upgrades: no history is needed to see that there is none.
const pay = workflow('pay', async (cents: number) => cents)
export const progress: CheckProgress[] = []
export const upgrade: Promise<UpgradeReport> = checkAgainst([], {
  register: pay,
  onProgress: (one) => progress.push(one),
})
export const found: Promise<readonly UpgradeFinding[]> = upgrade.then(({ findings }) => findings)
export const refused: Promise<boolean> = checkReplay(pay, []).then(
  ({ ok }) => ok,
  () => false,
)
