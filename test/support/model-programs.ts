// Programs as data, which run in this process: what explorations by the thousand are made with.

import { HOME, observer } from '../../src/cli/run/observe.ts'
import { type Config, readConfig } from '../../src/config.ts'
import type { Understudy } from '../../src/deps.ts'
import type { RunCommand } from '../../src/exploration/trial.ts'
import { testIo } from './cli.ts'

/** What a program does when a call fails: it fails, goes on without, or has something else to try first. */
export interface Handling {
  /** How often it makes the call again. */
  retries: number
  /** A model that it asks instead, after that. */
  fallback: boolean
  /** Something else that it asks, when it goes on without. */
  spare: boolean
  end: 'throw' | 'drop'
}

/** One call site. */
export interface Site {
  kind: 'ask'
  session: 'one' | 'two'
  system: string
  text: string
  handling: Handling
}

/** What a program does, step by step. */
export type Step =
  | Site
  /** The same call for several items, or for one again and again; one of them may be handled in another way. */
  | { kind: 'loop'; site: Site; times: number; sameText: boolean; odd: { at: number; handling: Handling } | null }
  /** Depends on whether anything has failed so far, or on what the last response said. */
  | { kind: 'branch'; on: 'failed' | 'content'; yes: Step[]; no: Step[] }
  /** Two calls at once, in two sessions. */
  | { kind: 'both'; sites: [Site, Site] }
  /** Resets the first session, as helpers do between tests. */
  | { kind: 'reset' }

/** What became of a run, as the program knows it. */
export interface ProgramRun {
  code: number
  /** Items that it went on without, by session, system prompt and text. */
  dropped: Set<string>
  /** How often it got a response for each item. */
  answered: Map<string, number>
}

const settings: Config = { ...readConfig({}, {}), clock: 'real', db: ':memory:' }

/** Runs a program against an understudy. */
async function perform(program: readonly Step[], understudy: Understudy): Promise<ProgramRun> {
  const run: ProgramRun = { code: 0, dropped: new Set(), answered: new Map() }
  let failures = 0
  let spares = 0
  let said = ''
  const post = async ({ session, system, text }: Omit<Site, 'kind' | 'handling'>, model = 'openai/gpt-4o') => {
    const response = await understudy.app.fetch(
      new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: 'Bearer any',
          'x-understudy-session': session === 'two' ? 'two' : HOME,
        },
        body: JSON.stringify({
          model,
          messages: [
            { role: 'system', content: system },
            { role: 'user', content: text },
          ],
        }),
      }),
    )
    const body = await response.text()
    if (!response.ok) throw new Error(`status ${response.status}`)
    return (JSON.parse(body) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? ''
  }
  const ask = async (site: Omit<Site, 'kind'>) => {
    const { retries, fallback, spare, end } = site.handling
    const item = `${site.session} ${site.system} ${site.text}`
    const models = [
      ...Array.from({ length: retries + 1 }, () => undefined),
      ...(fallback ? ['openai/gpt-4o-mini'] : []),
    ]
    for (const [index, model] of models.entries()) {
      try {
        said = await post(site, model)
        run.answered.set(item, (run.answered.get(item) ?? 0) + 1)
        return
      } catch (error) {
        failures++
        if (index < models.length - 1) continue
        if (end === 'throw') throw error
        run.dropped.add(item)
        if (spare) await post({ ...site, text: `spare ${spares++}` }).catch(() => {})
      }
    }
  }
  const reset = () =>
    understudy.app.fetch(
      new Request('http://localhost/_understudy/reset', { method: 'POST', headers: { 'x-understudy-session': HOME } }),
    )
  const steps = async (some: readonly Step[]): Promise<void> => {
    for (const step of some) {
      if (step.kind === 'ask') await ask(step)
      else if (step.kind === 'both') await allOf(step.sites.map(ask))
      else if (step.kind === 'reset') await reset()
      else if (step.kind === 'branch')
        await steps((step.on === 'failed' ? failures > 0 : said.length % 2 === 0) ? step.yes : step.no)
      else
        for (let index = 0; index < step.times; index++) {
          const { site, sameText, odd } = step
          const handling = odd?.at === index ? odd.handling : site.handling
          await ask({ ...site, handling, text: sameText ? site.text : `${site.text} ${index}` })
        }
    }
  }
  await steps(program).catch(() => {
    run.code = 1
  })
  return run
}

/** Fails when all are done, and one has failed. */
async function allOf(tasks: readonly Promise<void>[]): Promise<void> {
  for (const done of await Promise.allSettled(tasks)) if (done.status === 'rejected') throw done.reason
}

/** Items of which a run got fewer responses than another, and which it went on without. */
export const lostItems = (run: ProgramRun | undefined, quiet: ProgramRun | undefined): string[] =>
  [...(run?.dropped ?? [])].filter((item) => (run?.answered.get(item) ?? 0) < (quiet?.answered.get(item) ?? 0))

/** Runs a program as exploration asks for it. The same scenario comes to the same: it is run once. */
export function modelProgram(program: readonly Step[], more: Partial<Config> = {}) {
  const known = new Map<string, ReturnType<RunCommand>>()
  const runs = new Map<string, ProgramRun>()
  let name = ''
  const observe = observer({
    io: testIo(),
    config: { ...settings, ...more },
    async program(understudy) {
      const own = name
      const run = await perform(program, understudy)
      runs.set(own, run)
      const { code } = run
      const end = {
        ...{ crashed: false, stopped: false, leftProcesses: false, tookMs: 1, longestPauseMs: 1 },
        output: '',
      }
      return { ...end, code, url: 'http://localhost', requests: new Map(), stop: async () => {} }
    },
  })
  const run: RunCommand = (asked) => {
    name = asked.scenario?.name ?? ''
    const key = JSON.stringify(asked.scenario)
    const found = known.get(key) ?? observe(asked)
    known.set(key, found)
    return found
  }
  return { run, runOf: (scenario: string) => runs.get(scenario) }
}
