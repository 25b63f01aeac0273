// Which runs of an exploration may start: those that only wait have no job.
import { expect, test } from 'bun:test'
import { createRunSlots, type ReportsWait } from '../../src/exploration/run-slots.ts'

/** Runs that end when they are told to, by number, and the numbers of those that have started. */
function controlled(jobs: number, most?: number) {
  const slots = createRunSlots(jobs, most)
  const started: number[] = []
  const runs = new Map<number, { wait: ReportsWait; end: () => void }>()
  const all: Promise<void>[] = []
  const add = (number: number) =>
    all.push(
      slots.use(
        (wait) =>
          new Promise<void>((resolve) => {
            started.push(number)
            runs.set(number, { wait, end: resolve })
          }),
      ),
    )
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    return [...started]
  }
  const of = (number: number) => {
    const run = runs.get(number)
    if (!run) throw new Error(`run ${number} has not started`)
    return run
  }
  return { add, settle, of, all }
}

test('run slots: start as many runs as there are jobs, in order', async () => {
  const { add, settle, of } = controlled(2)
  for (const number of [1, 2, 3, 4]) add(number)
  expect(await settle()).toEqual([1, 2])
  of(2).end()
  expect(await settle()).toEqual([1, 2, 3])
})

test('run slots: start another run while one only waits, and no other when it works again', async () => {
  const { add, settle, of } = controlled(1)
  for (const number of [1, 2, 3]) add(number)
  expect(await settle()).toEqual([1])
  of(1).wait(true)
  of(1).wait(true)
  expect(await settle()).toEqual([1, 2])
  of(1).wait(false)
  of(2).end()
  expect(await settle()).toEqual([1, 2])
  of(1).end()
  expect(await settle()).toEqual([1, 2, 3])
})

test('run slots: limit the runs in progress, even if all of them wait', async () => {
  const { add, settle, of } = controlled(1)
  for (let number = 1; number <= 6; number++) add(number)
  for (const number of [1, 2, 3, 4]) {
    await settle()
    of(number).wait(true)
  }
  expect(await settle()).toEqual([1, 2, 3, 4])
  of(3).end()
  expect(await settle()).toEqual([1, 2, 3, 4, 5])
})

test('run slots: run one after the other if the command cannot run in parallel', async () => {
  const { add, settle, of } = controlled(1, 1)
  for (const number of [1, 2]) add(number)
  await settle()
  of(1).wait(true)
  expect(await settle()).toEqual([1])
  of(1).end()
  expect(await settle()).toEqual([1, 2])
})

test('run slots: free the job of a run that fails', async () => {
  const slots = createRunSlots(1)
  const failed = slots.use(async () => {
    throw new Error('no')
  })
  expect(failed).rejects.toThrow('no')
  expect(await slots.use(async () => 'next')).toBe('next')
})
