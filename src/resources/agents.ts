// Agents: stored as written, with resolved references, and shown in the format of the API.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { Agent, AgentBody, AgentPatch, type AgentTool, TOOL_TIMEOUT } from '../contract/workspace/agent.ts'
import type { Fields } from '../contract/workspace/record.ts'
import { AgentSettingsShape } from '../contract/workspace/task-shapes.ts'
import type { ToolParts } from '../contract/workspace/tool.ts'
import { builtIns } from '../guardrails/index.ts'
import { checksumOf } from '../lib/canonical.ts'
import { fingerprint } from '../lib/ids.ts'
import { canCallTools } from '../providers/catalogue.ts'
import { quote } from '../schema/validation.ts'
import { defineResource, oneOf, type Resource, type Transaction } from './define.ts'
import { evaluators } from './evaluators/evaluators.ts'
import { knowledgeBases } from './knowledge/knowledge.ts'
import { memoryStores } from './memory-stores.ts'
import { projectOfRecord } from './projects.ts'
import { tools } from './tools.ts'
import { countVersions, versionName, versionsOf } from './versions.ts'

const support = {
  key: 'support',
  role: 'Support agent',
  description: 'Answers questions about orders.',
  instructions: 'Help {{customer}} with orders. Look an order up before you say anything of it.',
  path: 'Default',
  model: 'openai/gpt-4o',
  settings: { tools: [{ type: 'current_date' }] },
}

/** The fields of a stored agent that a task's turn reads. */
const StoredAgent = z.looseObject({
  key: z.string(),
  role: z.string(),
  description: z.string(),
  instructions: z.string(),
  model: z.union([z.string(), z.looseObject({ id: z.string() })]),
  fallback_models: z.array(z.union([z.string(), z.looseObject({ id: z.string() })])).nullish(),
  settings: AgentSettingsShape.extend({ tools: z.array(z.looseObject({ type: z.string() })) }),
  memory_stores: z.array(z.string()),
  team_of_agents: z.array(z.looseObject({ key: z.string() })),
  knowledge_bases: z.array(z.looseObject({})),
  tool_entries: z.array(z.looseObject({ id: z.string() })),
})

/** Agents of the workspace (the specification, "Agent"). */
export const agents: Resource = defineResource({
  kind: 'agent',
  noun: 'agent',
  tag: 'Agents',
  path: '/v2/agents',
  param: 'key',
  refers: true,
  shown: ['create'],
  named: true,
  createdStatus: 201,
  deletedStatus: 204,
  descriptions: {
    create: 'Creates an agent with version 1.0.0, which is live immediately. All referenced records must exist.',
    update: 'Updates the given fields. The new version becomes live, and the previous one becomes `published`.',
  },
  examples: {
    create: { support },
    update: { described: { description: 'Answers questions about orders and returns.' } },
  },
  create: AgentBody,
  update: AgentPatch,
  record: Agent,
  stored: StoredAgent,
  key: 'key',
  pageSize: null,
  filter: {
    query: { type: z.enum(['internal', 'a2a']).optional().describe('Only agents of this type.') },
    includes: ({ type = 'internal' }, { type: expected }) => type === expected,
  },
  versioned: true,
  fill: (input, work, { before }) => {
    const agent = input as AgentBody
    checkModels(agent)
    const named = variablesIn(agent)
    checkReferences(agent, work, before)
    for (const [index, tool] of agent.settings.tools.entries()) checkTool(tool, work, `settings.tools[${index}]`)
    return {
      ...agent,
      project_id: projectOfRecord(work, agent, before),
      variables: { ...named, ...keptVariables(agent, named, before) },
      tool_entries: agent.settings.tools.map((tool) => entryOf(tool, agent.key, work)),
      total_cost: before?.total_cost ?? 0,
      // Incremented when the change is stored.
      ...(before && { version: before.version }),
    }
  },
  stamp: (work) => (body) => ({ ...body, version: versionName(countVersions(agents, work, String(body._id))) }),
  merge: (before, patch) => ({
    ...before,
    ...patch,
    settings: { ...(before.settings as Fields), ...(patch.settings as Fields | undefined) },
  }),
  changed(work, { verb, records }) {
    if (verb === 'update') for (const { _id } of records) publishOlder(work, String(_id))
  },
  show: shownAgent,
})

/** The versions of agents. The checksum is that of the agent as clients see it, whose status changes. */
export const agentVersions = versionsOf(agents, {
  show: (version) => {
    const data = shownAgent(version.data as Fields)
    return { ...version, checksum: checksumOf(data), data }
  },
})

type ModelChoice = AgentBody['model']
const modelId = (model: ModelChoice) => (typeof model === 'string' ? model : model.id)

/** The models of an agent with their parameters, and their paths in the request. */
const modelsOf = ({ model, fallback_models }: AgentBody): [choice: ModelChoice, param: string][] => [
  [model, 'model'],
  ...(fallback_models ?? []).map((one, index): [ModelChoice, string] => [one, `fallback_models[${index}]`]),
]
const parametersOf = (choice: ModelChoice) => (typeof choice === 'string' ? undefined : choice.parameters)

/**
 * Checks that the models support tool calls (the specification, "Create an agent").
 * @throws ApiError
 */
function checkModels(agent: AgentBody): void {
  const all = modelsOf(agent).flatMap(([choice, param]): [string, string][] => {
    const { fallbacks, load_balancer } = parametersOf(choice) ?? {}
    const entries = (list: readonly { model: string }[] | undefined, name: string) =>
      (list ?? []).map((one, at): [string, string] => [one.model, `${param}.parameters.${name}[${at}].model`])
    return [
      [modelId(choice), typeof choice === 'string' ? param : `${param}.id`],
      ...entries(fallbacks ?? undefined, 'fallbacks'),
      ...entries(load_balancer?.models, 'load_balancer.models'),
    ]
  })
  for (const [id, param] of all)
    if (!canCallTools(id)) {
      const message = `'${param}' must be a model that can call tools, got ${quote(id)}`
      throw new ApiError(400, 'model_without_tools', message, { param })
    }
}

/** The variables of an agent, without those from texts that no longer name them. */
function keptVariables(agent: AgentBody, named: Fields, before: Fields | undefined): Fields {
  const known = (before?.variables ?? {}) as Fields
  const isLeft = ([name, value]: [string, unknown]) =>
    !(name in named) && value === null && name in known && known[name] === null
  return Object.fromEntries(Object.entries(agent.variables).filter((one) => !isLeft(one)))
}

/**
 * Checks that everything an agent names exists in the workspace, by key or id.
 * @throws ApiError
 */
function checkReferences(agent: AgentBody, work: Transaction, before: Fields | undefined): void {
  type Reference = [resource: Resource, name: string | undefined, param: string]
  const references: Reference[] = [
    ...agent.knowledge_bases.map(
      ({ knowledge_id }, at): Reference => [knowledgeBases, knowledge_id, `knowledge_bases[${at}].knowledge_id`],
    ),
    ...agent.memory_stores.map((name, at): Reference => [memoryStores, name, `memory_stores[${at}]`]),
    ...agent.team_of_agents
      .map(({ key }, at): Reference => [agents, key, `team_of_agents[${at}].key`])
      .filter(([, key]) => key !== agent.key || before === undefined),
    ...agent.settings.tools.map(({ key, id }, at): Reference => {
      return [tools, key ?? id, `settings.tools[${at}].${key === undefined ? 'id' : 'key'}`]
    }),
  ]
  for (const [resource, name, param] of references)
    if (name !== undefined && !find(resource, work, name)) throw unknownReference(resource, work, { name, param })
  const guardrailIds = work.guardrailIds?.()
  const checks: [readonly { id: string }[], string, readonly string[] | undefined][] = [
    [agent.settings.evaluators, 'settings.evaluators', []],
    [agent.settings.guardrails, 'settings.guardrails', guardrailIds],
    ...modelsOf(agent).map(([choice, param]): (typeof checks)[number] => [
      parametersOf(choice)?.guardrails ?? [],
      `${param}.parameters.guardrails`,
      guardrailIds,
    ]),
  ]
  for (const [list, place, builtIn] of checks)
    for (const [at, { id }] of list.entries()) {
      const known = builtIn ? builtIn.includes(id) : builtIns.some(({ name }) => id.endsWith(`_${name}`))
      const named = { name: id, param: `${place}[${at}].id` }
      if (!known && !find(evaluators, work, id)) throw unknownReference(evaluators, work, { ...named, builtIn })
    }
}

/**
 * Checks that a referenced tool has the type that the agent gives, and contains the selected tool of a server.
 * @throws ApiError
 */
function checkTool(
  { type, key, id, tool_id }: AgentBody['settings']['tools'][number],
  work: Transaction,
  param: string,
): void {
  const name = key ?? id
  if (name === undefined) return
  const tool = find(tools, work, name) ?? {}
  const refuse = (field: string, message: string) =>
    new ApiError(400, 'invalid_value', `'${param}.${field}' ${message}`, { param: `${param}.${field}` })
  if (tool.type !== type)
    throw refuse('type', `must be ${quote(tool.type)}, as the tool ${quote(name)} is, got ${quote(type)}`)
  const offered = (tool as ToolParts).mcp?.tools ?? []
  if (offered.length === 0 || offered.some((one) => one.id === tool_id || one.name === tool_id)) return
  const there = offered.map((one) => quote(one.name)).join(', ')
  throw refuse('tool_id', `must be the id or name of a tool of ${quote(name)}: ${there}; got ${quote(tool_id)}`)
}

const find = (resource: Resource, { records, caller }: Transaction, name: string): Fields | undefined =>
  records.byKey(resource.kind, caller.workspace, '', name) ?? records.get(resource.kind, caller.workspace, name)?.body

const MAX_NAMED = 10

function unknownReference(
  resource: Resource,
  work: Transaction,
  { name, param, builtIn = [] }: { name: string; param: string; builtIn?: readonly string[] | undefined },
): ApiError {
  const { kind } = resource
  const { data } = work.records.page({ kind, workspace: work.caller.workspace, parent: '', limit: MAX_NAMED })
  const there = data.map(({ key, _id }) => quote(String(key ?? _id))).join(', ')
  const choices = builtIn.length === 0 ? '' : `${builtIn.map(quote).join(', ')}, or `
  const message = `'${param}' must be ${choices}the key or id of ${oneOf(resource)}, got ${quote(name)}; there ${there === '' ? 'is none' : `are ${there}`} in this workspace`
  return new ApiError(404, `${resource.kind}_not_found`, message, { param })
}

/** The variables in the instructions and the system prompt, without values. */
function variablesIn({ instructions, system_prompt }: AgentBody): Record<string, unknown> {
  const names = [...`${instructions}\n${system_prompt ?? ''}`.matchAll(/\{\{\{?\s*([A-Za-z_][\w.-]*)\s*\}?\}\}/g)].map(
    ([, name = '']) => name,
  )
  return Object.fromEntries(names.map((name) => [name, null]))
}

/** An entry of `settings.tools` in a response, with its resolved reference. */
function entryOf(tool: AgentBody['settings']['tools'][number], agent: string, work: Transaction): AgentTool {
  const { type, key, id, tool_id, requires_approval = false, timeout = TOOL_TIMEOUT } = tool
  const found = key !== undefined || id !== undefined ? find(tools, work, String(key ?? id)) : undefined
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
  const [shownKey, name, description] = [found?.key ?? type, found?.display_name, found?.description].map(text)
  return {
    id: String(found?._id ?? `tool_${fingerprint(`${agent}:${type}`).slice(0, 26).toUpperCase()}`),
    action_type: type,
    ...(shownKey !== undefined && { key: shownKey }),
    ...(name !== undefined && { display_name: name }),
    ...(description !== undefined && { description }),
    requires_approval,
    ...(tool_id !== undefined && { tool_id }),
    timeout,
  }
}

function publishOlder({ records, caller }: Transaction, agent: string): void {
  const { kind } = agentVersions
  const [, older] = records.page({ kind, workspace: caller.workspace, parent: agent, limit: 2 }).data
  if (older)
    records.update(String(older._id), {
      key: null,
      body: { ...older, data: { ...(older.data as Fields), status: 'published' } },
    })
}

/** An agent as clients see it. */
function shownAgent(stored: Fields): Fields {
  const { tool_entries, total_cost, fallback_models, skills, a2a, workspace_id: _, ...agent } = stored
  const { model, settings } = stored as AgentBody
  const chosen = typeof model === 'string' ? { id: model } : model
  return {
    ...agent,
    status: stored.status ?? 'live',
    skills: skills ?? [],
    model: {
      ...chosen,
      ...(Array.isArray(fallback_models) && { fallback_models: fallback_models.map(modelId) }),
    },
    metrics: { total_cost },
    settings: { ...settings, tools: tool_entries },
    ...(a2a !== undefined && { a2a }),
  }
}
