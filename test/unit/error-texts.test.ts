// Which lines of a program's output report an error: an exploration takes a program that prints one for one that fails cleanly.
import { describe, expect, test } from 'bun:test'
import { reportsError } from '../../src/exploration/error-text.ts'

describe('lines of output', () => {
  test.each([
    'no answer for one of them',
    'There was no response from the model.',
    'No reply yet, sorry',
    'item two: no result',
    'two of three are without an answer',
    'The model did not answer.',
    "the assistant didn't respond in time",
    'it does not work at the moment',
    "We couldn't reach the assistant",
    "can't load the summary",
    '1 question is unanswered',
    'The download was interrupted',
    'Something went wrong. Please try again later.',
    'The service is not available right now',
    'Error: 503',
    'TypeError: fetch failed',
    'status 429',
    '1 failed, 2 passed',
    'failed: 1',
    'errors: 10',
    'errors: 0.5 % of all',
    '{"ok":2,"error":"busy"}',
    'no errors in the first one, but the second one failed',
    'gave up after 3 tries',
    '✗ summary',
  ])('report an error: %s', (line) => {
    expect(reportsError(line)).toBe(true)
  })

  test.each([
    'done',
    'all of them have an answer',
    'The answer is no.',
    'answer: yes',
    'no response is needed',
    '2 done, 0 failed',
    '2 answers, no errors',
    'finished without errors',
    'finished without any failures',
    'errors: 0',
    'failed=0 passed=2',
    '# fail 0',
    'ok 2, failures: none',
    '{"ok":2,"errors":[],"error":null,"failed":false}',
    'did not use the cache',
    'Say hello again, and then later goodbye',
    'I know what is available',
  ])('report no error: %s', (line) => {
    expect(reportsError(line)).toBe(false)
  })
})
