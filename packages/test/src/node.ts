// For node:test: `test` whose context has `understudy`.
import { test as nodeTest, type TestContext, type TestOptions } from 'node:test'
import { openSession } from './test-session.ts'
import type { Understudy } from './types.ts'

/** A test: it takes the context of node:test, which also has `understudy`. */
export type UnderstudyTest = (context: TestContext & { understudy: Understudy }) => void | Promise<void>

interface Runner {
  (name: string, fn: UnderstudyTest): Promise<void>
  (name: string, options: TestOptions, fn: UnderstudyTest): Promise<void>
}

function wrapped(
  run: (name: string, options: TestOptions, fn: (context: TestContext) => Promise<void>) => unknown,
): Runner {
  return (name: string, ...rest: [UnderstudyTest] | [TestOptions, UnderstudyTest]) => {
    const [options, fn] = rest.length === 1 ? [{}, rest[0]] : rest
    return run(name, options, async (context) => {
      const session = await openSession({ title: name, file: process.argv[1] })
      let passed = false
      // It also comes after a test whose time was up.
      context.after(() => session.close(!passed))
      await fn(Object.assign(context, { understudy: session.understudy }))
      passed = true
    }) as Promise<void>
  }
}

/** node:test's `test`, whose tests take `understudy`. */
export const test: Runner & Record<'only' | 'skip' | 'todo', Runner> = Object.assign(wrapped(nodeTest), {
  only: wrapped(nodeTest.only),
  skip: wrapped(nodeTest.skip),
  todo: wrapped(nodeTest.todo),
})
/** The same. */
export const it = test
