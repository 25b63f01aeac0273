// Flags and variables override the time settings of a scenario, and an impossible combination is printed instead of rejected.
import { expect, test } from 'bun:test'
import { readForwarding } from '../../src/config/providers.ts'
import { readConfig } from '../../src/config.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { fixedSource } from '../../src/scenarios/load.ts'

const scenario = {
  name: 'night',
  location: 'night.yaml',
  clock: 'virtual' as const,
  latency: 'real' as const,
  rules: [],
  expect: [],
}
const forwarding = readForwarding({
  section: {
    value: { mine: { base_url: 'http://127.0.0.1:1', api_key: 'k', backend: 'forward' } },
    locationOf: () => 'understudy.yaml:1',
  },
  backend: 'fixture',
  environment: {},
})

const rows: [string, object, Record<string, string>, object, string[], string][] = [
  ['there is no other setting', {}, {}, {}, [], 'virtual real'],
  [
    '--clock real',
    { clock: 'real' },
    {},
    {},
    ['--clock real overrides \'clock: virtual\' of the scenario "night"'],
    'real real',
  ],
  ['--clock virtual', { clock: 'virtual' }, {}, {}, [], 'virtual real'],
  [
    'UNDERSTUDY_CLOCK=real',
    {},
    { UNDERSTUDY_CLOCK: 'real' },
    {},
    ['--clock real overrides \'clock: virtual\' of the scenario "night"'],
    'real real',
  ],
  [
    '--skip-latency',
    { skip_latency: true },
    {},
    {},
    ['--skip-latency overrides \'latency: real\' of the scenario "night"'],
    'virtual skip',
  ],
  [
    'both flags',
    { skip_latency: true, clock: 'real' },
    {},
    {},
    [
      '--clock real overrides \'clock: virtual\' of the scenario "night"',
      '--skip-latency has no effect under the scenario "night", which runs on a real clock',
    ],
    'real real',
  ],
  [
    'calls are forwarded',
    {},
    {},
    { forwarding },
    [
      'the scenario "night" runs on a real clock: a virtual clock does not wait for real providers, and calls to mine are forwarded',
    ],
    'real real',
  ],
]
test.each(rows)(
  'clock of a scenario with a virtual clock: is right when %s',
  (_, flags, environment, settings, printed, expected) => {
    const lines: string[] = []
    const config = { ...readConfig({ ...flags }, environment), db: ':memory:', ...settings }
    const notice = (line: string) => void lines.push(line)
    const raise = (error: unknown) => {
      throw error
    }
    const { sessions, runs } = createUnderstudy(config, raise, { scenarios: [fixedSource(scenario)], notice })
    const { clock } = runs.enter(sessions.get('default'))
    const latency = clock.kind === 'virtual' && clock.skipsLatency ? 'skip' : 'real'
    expect(`${clock.kind} ${latency}`).toBe(expected)
    expect(lines).toEqual(printed)
    sessions.close()
  },
)

test('virtual clock setting: becomes a real clock when calls are forwarded', () => {
  const lines: string[] = []
  const config = { ...readConfig({ clock: 'virtual' }, {}), db: ':memory:', forwarding }
  const { sessions } = createUnderstudy(config, () => {}, { notice: (line) => void lines.push(line) })
  expect(sessions.get('default').clock.kind).toBe('real')
  expect(lines).toEqual([
    'sessions use a real clock: a virtual clock does not wait for real providers, and calls to mine are forwarded',
  ])
  sessions.close()
})
