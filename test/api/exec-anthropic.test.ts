// Programs written for Anthropic's API under exec: they need no change, and are judged as every other.
import { expect, setDefaultTimeout, test } from 'bun:test'
import { play } from '../support/exec.ts'
import { client } from '../support/in-process.ts'

// Each test starts a program, on a machine that may be busy.
setDefaultTimeout(60_000)

const scenario = (when: string, fault: string, at = 'provider') => `
name: day
clock: virtual
rules:
  - name: trouble
    at: ${at}
    match: {}
    when: { ${when} }
    fault: { ${fault} }
`
const BUSY = 'type: http-error, status: 429, retry_after: 1s'
const CUT = 'type: cut-stream, after_chunks: 3'

test.concurrent.each([
  ['honors Retry-After of a provider', 'standard', scenario('calls: 1', BUSY), []],
  ['honors Retry-After of a gateway', 'standard', scenario('calls: 1', BUSY, 'gateway'), []],
  ['does not wait', 'impatient', scenario('calls: 1-2', BUSY), ['early-retry']],
  ['takes half a stream for a whole one', 'swallower', scenario('calls: 1', CUT), ['swallowed']],
])('exec with the Anthropic SDK: judges a client that %s', async (_, how, yaml, kinds) => {
  const { run, findings } = await play(client('anthropic', how), yaml)
  expect(findings).toEqual({ day: kinds as string[] })
  expect(run.sessions[0]?.rules[0]?.applied).toBeGreaterThan(0)
})
