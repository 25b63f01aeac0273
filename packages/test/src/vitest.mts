// For vitest: `test` with the fixture `understudy`. Only tests that name it have a session.
import { type TestAPI, test as vitest } from 'vitest'
import { openSession } from './test-session.ts'
import type { Understudy } from './types.ts'

/** vitest's `test`, whose tests may take `understudy`. */
export const test: TestAPI<{ understudy: Understudy }> = vitest.extend<{ understudy: Understudy }>({
  understudy: async ({ task }, use) => {
    const { name: title, file, suite } = task
    const session = await openSession({ title: suite ? `${suite.name} > ${title}` : title, file: file.filepath })
    await use(session.understudy)
    await session.close(task.result?.state === 'fail')
  },
})
/** The same. */
export const it = test
