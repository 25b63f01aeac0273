// For bun test: `test` whose tests take `{ understudy }`.
import { afterEach, test as bunTest } from 'bun:test'
import { withUnderstudy } from './wrap.ts'

/** bun test's `test`, whose tests take `{ understudy }`. */
export const test = withUnderstudy({ test: bunTest, afterEach, current: () => ({ file: Bun.main }) })
/** The same. */
export const it = test
