// For jest: `test` whose tests take `{ understudy }`.
import { afterEach, expect, test as jestTest } from '@jest/globals'
import { withUnderstudy } from './wrap.ts'

/** jest's `test`, whose tests take `{ understudy }`. */
export const test = withUnderstudy({
  test: jestTest,
  afterEach,
  current() {
    const { currentTestName: title, testPath: file } = expect.getState()
    return { title, file }
  },
})
/** The same. */
export const it = test
