// For runners without fixtures of their own, jest and bun test: a `test` that gives each test its `understudy`.
import { openSession, type TestSession } from './test-session.ts'
import type { Understudy } from './types.ts'

/** What a test takes. */
export interface UnderstudyContext {
  understudy: Understudy
}

/** A test. */
export type UnderstudyTest = (context: UnderstudyContext) => unknown
/** A test of a table, which takes its row first. */
export type UnderstudyRowTest<Row extends readonly unknown[]> = (...args: [...Row, UnderstudyContext]) => unknown

/** Declares a test. */
export type Declare = (name: string, fn: UnderstudyTest, timeout?: number) => void
/** Declares a test for each row of a table. */
export interface DeclareEach {
  <Row>(
    rows: readonly Row[],
  ): (name: string, fn: UnderstudyRowTest<Row extends readonly unknown[] ? Row : [Row]>, timeout?: number) => void
  /** A table of jest as a tagged template. A row is an object. */
  (
    head: TemplateStringsArray,
    ...cells: readonly unknown[]
  ): <Row>(name: string, fn: UnderstudyRowTest<[Row]>, timeout?: number) => void
}

/** A runner's `test`, whose tests take `understudy`. */
export interface UnderstudyTestApi extends Declare {
  only: Declare & { each: DeclareEach }
  skip: Declare & { each: DeclareEach }
  failing: Declare
  concurrent: Declare
  each: DeclareEach
  todo(name: string): void
}

type Run = (name: string, fn: (...args: never[]) => Promise<void>, timeout?: number) => unknown
/** What we need of a runner's `test`. */
interface RunnerTest extends Run {
  only: Run
  skip: Run
  failing: Run
  concurrent: Run
  each(...table: readonly never[]): Run
  todo(name: string): unknown
}

/** What differs from runner to runner. */
interface RunnerDoor {
  test: unknown
  /** What it does after each test. */
  afterEach(fn: () => Promise<void>): void
  /** File and whole name of the test that runs, as far as the runner says. */
  current(): { title?: string | undefined; file?: string | undefined }
}

/** A runner's `test` with the fixture. */
export function withUnderstudy({ test, afterEach, current }: RunnerDoor): UnderstudyTestApi {
  const runner = test as RunnerTest
  // Whose time was up never come to their end, and are closed here. Concurrent ones may run on beside the one that ended.
  const open = new Set<TestSession>()
  afterEach(async () => {
    for (const session of open) await session.close(true)
    open.clear()
  })
  const body =
    (name: string, fn: (...args: never[]) => unknown, { fails = false, alone = true } = {}) =>
    // Without parameters of its own: a runner would take one for a callback.
    async (...row: unknown[]) => {
      const { title = name, file } = current()
      const session = await openSession({ title: alone ? title : name, file })
      if (alone) open.add(session)
      let passed = false
      try {
        await fn(...([...row, { understudy: session.understudy }] as never[]))
        passed = true
      } finally {
        open.delete(session)
        await session.close(passed === fails)
      }
    }
  // Asked for when a test is declared: bun refuses even to name `only` in CI.
  const declare =
    (run: () => Run, kind: { fails?: boolean; alone?: boolean } = {}): Declare =>
    (name, fn, timeout) =>
      void run()(name, body(name, fn, kind), timeout)
  const each =
    (run: () => Run): DeclareEach =>
    (...table: readonly unknown[]) =>
    (name: string, fn: (...args: never[]) => unknown, timeout?: number) =>
      void (run() as RunnerTest).each(...(table as readonly never[]))(name, body(name, fn), timeout)
  const both = (run: () => Run) => Object.assign(declare(run), { each: each(run) })
  return Object.assign(
    declare(() => runner),
    {
      only: both(() => runner.only),
      skip: both(() => runner.skip),
      failing: declare(() => runner.failing, { fails: true }),
      concurrent: declare(() => runner.concurrent, { alone: false }),
      each: each(() => runner),
      todo: (name: string) => void runner.todo(name),
    },
  )
}
