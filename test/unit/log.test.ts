// What a running server prints of messages and errors, for people and as JSON.
import { expect, test } from 'bun:test'
import { createLog } from '../../src/cli/print/log.ts'
import { FileError } from '../../src/schema/source.ts'

function logged(format: 'json' | undefined) {
  const lines: string[] = []
  const log = createLog(() => ({ add: (line) => void lines.push(line) }))
  log.useFormat(format)
  return { log, lines, json: () => lines.map((line) => ({ ...JSON.parse(line), time: undefined })) }
}

test('log: prints the problems of a file as lines, and the stack of a bug alone', () => {
  const { log, lines } = logged(undefined)
  log.report(new FileError(['a.yaml:1: wrong', 'a.yaml:2: wrong, too']))
  log.report(Object.assign(new TypeError('bug'), { stack: 'TypeError: bug\n  at x' }))
  log.report('text')
  log.line('info', 'ready', { prefix: 'note: ', port: 1 })
  expect(lines).toEqual([
    'understudy: a.yaml:1: wrong',
    'understudy: a.yaml:2: wrong, too',
    'TypeError: bug',
    '  at x',
    'text',
    'understudy: note: ready',
  ])
})

test('log: has one object for each message and error as JSON', () => {
  const { log, json } = logged('json')
  log.report(new FileError(['a.yaml:1: wrong']))
  log.report(Object.assign(new TypeError('bug'), { stack: 'TypeError: bug\n  at x' }))
  log.report('understudy: late')
  log.line('info', 'ready', { prefix: 'note: ', port: 1 })
  expect(json()).toMatchObject([
    { level: 'error', message: 'a.yaml:1: wrong' },
    { level: 'error', message: 'bug', stack: 'TypeError: bug\n  at x' },
    { level: 'warn', message: 'late' },
    { level: 'info', message: 'ready', port: 1 },
  ])
})
