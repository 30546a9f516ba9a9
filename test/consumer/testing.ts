import { describeWorkflowStore, type StoreUnderTest, virtualClock } from 'holdfast/testing'

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
