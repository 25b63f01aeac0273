// A fault applies to whatever a provider has sent, odd as it may be, and never causes an internal error.
import { afterAll, expect, test } from 'bun:test'
import { faultKinds } from '../../src/faults/index.ts'
import { rehearsal } from '../support/faults.ts'

let sent = ''
const provider = rehearsal(() => sent)
afterAll(provider.close)

const WHOLE = [
  'not JSON',
  'null',
  '[]',
  '"text"',
  '{"choices":[null,5,{"finish_reason":"stop"}],"usage":7}',
  '{"choices":"none","usage":{"prompt_tokens":"x"},"response":[]}',
]
const PIECES = [
  'null',
  '5',
  '{"choices":[null]}',
  '{"choices":[{"delta":"x","finish_reason":7}],"usage":[]}',
  '{"type":"response.completed"}',
]

// A hang lasts until its client goes.
const kinds = faultKinds.filter(({ type, points }) => points.includes('provider') && type !== 'hang')
test.each(kinds.map((kind) => [kind.type, kind] as const))(
  'fault on unusual provider responses: causes no server error with %s',
  async (type, kind) => {
    const rows: [stream: boolean, text: string][] = [
      ...WHOLE.map((text): [boolean, string] => [false, text]),
      ...PIECES.map((piece): [boolean, string] => [true, `data: ${piece}\n\ndata: [DONE]\n\n`]),
    ]
    for (const [stream, text] of rows) {
      sent = text
      const { trace } = await provider.hear({ stream, fault: { type, ...kind.example } })
      expect([text, trace.outcome]).not.toEqual([text, 'internal_error'])
    }
  },
)
