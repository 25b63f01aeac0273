// Tools of an agent, called one by one without an agent around them.
import { callerOf } from '../../src/access.ts'
import type { ToolCall, ToolContext, ToolEntry, ToolResult } from '../../src/agents/tools/define.ts'
import { toolKindOf } from '../../src/agents/tools/index.ts'
import { runTool, toolFixturesOf } from '../../src/agents/tools/run.ts'
import { fixedFixtures, fixturesInForce } from '../../src/backends/fixture/in-force.ts'
import { requestFixtures } from '../../src/backends/fixture/read-fixture.ts'
import { toolAnswers } from '../../src/backends/fixture/tool-answers.ts'
import { fixtureSubjects } from '../../src/endpoints/index.ts'
import { knowledgeOf } from '../../src/resources/knowledge/search.ts'
import type { TestApp } from './app.ts'
import type { Json } from './workspace.ts'

/** A tool, as an entry of an agent has it. */
export const entryOf = (type: string, record: Json | null = null, more: Partial<ToolEntry> = {}): ToolEntry => ({
  type,
  id: `tool_${type}`,
  requires_approval: false,
  record,
  ...more,
})

/** What a call may have otherwise than usual. */
interface Otherwise {
  fixtures?: readonly Json[]
  agent?: Partial<ToolContext['agent']>
  memory?: ToolContext['memory']
  id?: string
  task?: string
  onUnmatched?: 'generate' | 'error'
  name?: string
  delegate?: ToolContext['delegate']
  signal?: AbortSignal
}

/** Tools in the default session of an application. */
export function toolsIn(app: TestApp) {
  const session = app.understudy.sessions.get('default')
  const agentWith = (more: Partial<ToolContext['agent']> = {}): ToolContext['agent'] => ({
    _id: 'a',
    key: 'helper',
    role: 'r',
    description: 'd',
    instructions: 'i',
    memory_stores: [],
    knowledge_bases: [],
    team_of_agents: [],
    tools: [],
    ...more,
  })
  const kindOf = (type: string) => {
    const kind = toolKindOf(type)
    if (!kind) throw new Error(`there is no kind of tool for ${type}`)
    return kind
  }
  /** What a model is offered for an entry. */
  const offered = (entry: ToolEntry, agent?: Otherwise['agent']) =>
    kindOf(entry.type).definitions(entry, agentWith(agent))
  /** What a call comes to, and how long it takes on the clock. */
  const run = async (
    entry: ToolEntry,
    given: Json,
    otherwise: Otherwise = {},
  ): Promise<ToolResult & { ms: number }> => {
    const {
      fixtures = [],
      memory,
      id = 'call_1',
      task = '01JGFJJZ00AAAAAAAAAAAAAAAA',
      onUnmatched = 'generate',
    } = otherwise
    const agent = agentWith(otherwise.agent)
    const kind = kindOf(entry.type)
    const [definition] = kind.definitions(entry, agent)
    if (!definition) throw new Error(`nothing is offered for ${entry.type}`)
    const named = fixtures.map(({ match, ...rest }) => ({
      match: { operation: 'agents.tools', ...(match as Json) },
      ...rest,
    }))
    const files = fixedFixtures(requestFixtures(named, fixtureSubjects))
    const call: ToolCall = { name: otherwise.name ?? definition.name, id, arguments: given, entry }
    const begun = session.clock.now()
    const result = await runTool({ kind, definition }, call, {
      session,
      caller: callerOf(undefined, { tokens: {} }),
      task: { id: task },
      agent,
      sequences: session.sequences.begin(),
      memory,
      iteration: 1,
      signal: otherwise.signal ?? new AbortController().signal,
      fixtures: toolFixturesOf(toolAnswers(fixturesInForce({ files, shipped: [] }), onUnmatched)),
      knowledge: knowledgeOf(async () => {}),
      delegate: otherwise.delegate ?? (async () => ({ error: 'nobody is there' })),
    })
    return { ...result, ms: session.clock.now() - begun }
  }
  return { session, offered, run }
}
