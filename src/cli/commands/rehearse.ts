// understudy rehearse: runs a scenario with built-in calls and shows how a gateway handles it.
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { serverAddress } from '../../config.ts'
import { FORMATS } from '../../contract/core/formats.ts'
import { outcomeText } from '../../contract/core/outcome-text.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Verification } from '../../contract/core/verification.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { printableValues } from '../../lib/printable.ts'
import type { Scenario } from '../../scenarios/engine.ts'
import { loadShipped, openScenario } from '../../scenarios/load.ts'
import { parseSource } from '../../schema/source.ts'
import { nothingInjected, verdictOf } from '../../verdict/inconclusive.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { drawingWidth, type Printer, paint, wrapLine } from '../print/output.ts'
import { MANY_CALLS, overviewLines } from '../print/overview.ts'
import { fittedReport, reportLines, verdictText } from '../print/report.ts'
import type { RehearseJson } from '../print/report-schemas.ts'
import { taskTree, waterfall } from '../print/waterfall.ts'
import {
  type Ask,
  builtInCalls,
  fixturesOfAgents,
  isOfAgents,
  makeAgents,
  ruleFor,
  runTask,
  stepOf,
} from '../run/built-in-calls.ts'
import { inProcess, makeCall, postJson, rehearsalConfig, type SendRequest } from '../run/in-process.ts'
import { NOT_PASSED } from '../run/suite-run.ts'
import { numberOf } from './command-flags.ts'

interface Options {
  against?: string
  token?: string
  calls?: string
  json?: boolean
}
const EXIT_CODES = `
Exit code:
  0  PASS
  3  FAIL: an expectation of the scenario was not met
  3  INCONCLUSIVE: no fault was injected`
const STANDARD_CALLS = 6
const MAX_CALLS = 200

/** `understudy rehearse`: runs a scenario with built-in calls and shows what happens over time. */
export function rehearseCommand(io: CommandIo, exiting: Exiting): Command {
  return new Command('rehearse')
    .description('dry-run a scenario with built-in calls and show what happens over time')
    .argument('<SCENARIO>', 'a shipped scenario or a file')
    .option(
      '--against <URL>',
      'use this running server, in the session rehearse-<scenario> (default: run in this process, skipping all waits)',
    )
    .option('--token <TOKEN>', 'token for that server')
    .option('--calls <NUMBER>', `number of calls to make (default: ${STANDARD_CALLS})`)
    .option('--json', 'print the traces and the report as JSON')
    .addHelpText('after', EXIT_CODES)
    .action(exiting((scenario: string, options: Options) => rehearse(io, scenario, options)))
}

async function rehearse(io: CommandIo, nameOrFile: string, options: Options): Promise<number> {
  const number = numberOf('calls', options.calls ?? String(STANDARD_CALLS), MAX_CALLS)
  const { scenario } = openScenario(nameOrFile, io.log.report)
  const local = options.against === undefined ? inProcess(rehearsalConfig(io.env), io.log) : undefined
  const send = local?.send ?? against(io, options.against, options.token)
  const session = `rehearse-${scenario.name}`.slice(0, 64)
  const inSession: Ask = async (path, body) => {
    const whole = `/s/${session}${path}`
    return json(await (body === undefined ? send(whole) : postJson(send, whole, body)))
  }
  const ofAgents = scenario.rules.some(isOfAgents)
  // Deletes what an earlier rehearsal left.
  await send(`/_understudy/sessions/${encodeURIComponent(session)}`, { method: 'DELETE' })
  const whole = loadShipped(nameOrFile)
    ? scenario.name
    : parseSource(nameOrFile, readFileSync(nameOrFile, 'utf8')).value
  // Also named in the path, where a balancer in front of several servers can see it.
  const made = (await inSession('/_understudy/sessions', {
    name: session,
    scenario: whole,
    // Its clients are built in, so latency is skipped.
    latency: 'skip',
    ...(ofAgents && { fixtures: fixturesOfAgents(scenario.rules) }),
    ...(options.against === undefined && !scenario.clock && { clock: 'virtual' }),
  })) as { clock: { kind: string } }
  const virtual = made.clock.kind === 'virtual'
  const step = stepOf(scenario, number)
  const clock = async (change: object) =>
    virtual && (await postJson(send, `/_understudy/sessions/${encodeURIComponent(session)}/clock`, change))
  if (ofAgents) await makeAgents(scenario, inSession)
  for (const [index, { path, body, headers }] of builtInCalls(scenario, number).entries()) {
    if (index > 0 && step > 0) await clock({ advance: step })
    const rule = ruleFor(scenario, index)
    if (isOfAgents(rule)) await runTask(rule, index, { ask: inSession, clock })
    else await makeCall(send, `/s/${session}${path}`, body, headers)
  }
  const data = await tracesOf(inSession, ofAgents ? undefined : number)
  const found = ofOwnCalls((await inSession('/_understudy/verify')) as Verification, scenario)
  local?.sessions.close()
  print(io.stdout, { format_version: FORMATS.reports, traces: data.reverse(), report: found }, options)
  return found.verdict === 'pass' ? 0 : NOT_PASSED
}

/** The newest traces of a session, or all of them: a task creates many. */
async function tracesOf(ask: Ask, most: number | undefined): Promise<TraceRecord[]> {
  const found: TraceRecord[] = []
  for (let after = ''; ; after = `&starting_after=${found.at(-1)?.id}`) {
    const path = `/_understudy/traces?limit=${most ?? MAX_CALLS}${after}`
    const { data, has_more } = (await ask(path)) as { data: TraceRecord[]; has_more: boolean }
    found.push(...data)
    if (most !== undefined || !has_more) return found
  }
}

function against({ env }: CommandIo, address: string | undefined, given: string | undefined): SendRequest {
  const { url, token } = serverAddress(env, { url: address, token: given }, '--against')
  const headers = { authorization: `Bearer ${token}` }
  const unreachable = () => new ServerError(`no server responds at ${url}: start one with 'understudy serve'`)
  return (path, init = {}) => {
    const answer = directFetch(`${url}${path}`, { ...init, headers: { ...headers, ...init.headers } })
    return path.startsWith('/_understudy') ? answer.catch(() => Promise.reject(unreachable())) : answer
  }
}

async function json(response: Response): Promise<unknown> {
  const body = (await response.json()) as { message?: string }
  if (!response.ok) throw new ServerError(body.message ?? `the server returned status ${response.status}`)
  return body
}

/**
 * The report without findings and needs, since no client made these calls. At least one fault must have been injected.
 */
function ofOwnCalls(report: Verification, scenario: Scenario): Verification {
  const reason = nothingInjected(scenario, report)
  const inconclusive = reason === undefined ? [] : [reason]
  const fails = report.expectations.some(({ met }) => !met)
  return { ...report, findings: [], verdict: verdictOf(fails, inconclusive), inconclusive, ok: !fails }
}

function print(stdout: Printer, rehearsal: RehearseJson, options: Options): void {
  if (options.json) {
    stdout.json(rehearsal)
    return
  }
  const { report } = rehearsal
  const width = drawingWidth(stdout)
  const traces = printableValues(rehearsal.traces)
  if (traces.length >= MANY_CALLS) stdout.lines([...overviewLines(traces, width), ''])
  const related = new Map(traces.map((trace) => [trace.id, trace]))
  const tree = ({ task }: TraceRecord) => (task ? taskTree(task, related, width) : [])
  // The steps of an agent are drawn in the tree of its task.
  for (const trace of traces.filter(({ parent }) => parent === null || !related.get(parent)?.task))
    stdout.lines([...headline(trace, stdout), ...tree(trace), ...waterfall(trace, width), ''])
  stdout.lines([
    `Understudy: ${report.scenario}: ${verdictText(report)}`,
    ...fittedReport(reportLines(report), stdout.width),
  ])
}

function headline(trace: TraceRecord, { width }: Printer): string[] {
  const { operation, model, stream, outcome, status, duration_ms } = trace
  const call = `${operation}${stream ? ' stream' : ''}`
  const text = `${call}  ${model ?? '-'}  ${outcomeText(outcome)} ${status}  ${duration_ms} ms`
  return wrapLine(paint('bold', text), width, 2)
}
