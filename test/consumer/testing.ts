import {
  type CutOn,
  describeWorkflowStore,
  type Fault,
  type FaultyPostgres,
  faultyPostgres,
  type Injected,
  type PostgresProxy,
  postgresProxy,
  type ProxyCounts,
  skewClock,
  type StoreUnderTest,
  sweepTestSchemas,
  type TestSchema,
  testSchema,
  virtualClock,
} from 'holdfast/testing'

export const clock = virtualClock()
export const advanced = clock.advance('1h')

// Any test runner will do; this one runs nothing.
export const names: string[] = []
describeWorkflowStore(
  'my store',
  (): Promise<StoreUnderTest> => Promise.reject(new Error('none')),
  {
    describe: (_name, body) => body(),
    test: (name) => names.push(name),
    expect: () => {
      throw new Error('no test runs here')
    },
  },
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
