// Tools, with a version for each change.
import { ofOneType, Tool, ToolBody, type ToolParts, ToolUpdate, toolId } from '../contract/workspace/tool.ts'
import { fingerprint } from '../lib/ids.ts'
import { defineResource } from './define.ts'
import { projectOfRecord } from './projects.ts'
import { versionsOf } from './versions.ts'

const lookUp = {
  key: 'look_up_parcel',
  description: 'Finds a parcel by its number.',
  function: {
    name: 'look_up_parcel',
    description: 'Finds a parcel by its number.',
    parameters: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
  },
}

const weather = {
  key: 'weather',
  description: 'The weather of a city.',
  type: 'http',
  http: {
    blueprint: { url: 'https://weather.example/{{city}}', method: 'GET' },
    arguments: { city: { type: 'string', description: 'Name of the city.' } },
  },
}

/** Tools (the specification, "Tool"). */
export const tools = defineResource({
  kind: 'tool',
  noun: 'tool',
  tag: 'Tools',
  path: '/v2/tools',
  param: 'tool_id',
  id: toolId,
  shown: ['list'],
  examples: { create: { parcel: lookUp, weather }, update: { described: { description: 'Finds a parcel.' } } },
  descriptions: {
    create:
      'Creates a tool. The client runs tools of type `function`. Tools of type `http`, `code`, and `mcp` are stored and offered to agents; their results come from fixtures or are generated. No tool is called or run.',
  },
  create: ToolBody,
  update: ToolUpdate,
  textErrors: ['update'],
  record: Tool,
  key: 'key',
  pageSize: null,
  versioned: true,
  fill: (input, work, { before }) => ({
    ...input,
    ...withIds(input),
    project_id: projectOfRecord(work, input, before),
  }),
  merge: (before, patch) => ofOneType({ ...before, ...patch }, patch),
})

/** The tools of an MCP server, each with an id. */
function withIds({ key, mcp }: { key?: unknown } & ToolParts): ToolParts {
  if (!mcp) return {}
  const tools = mcp.tools.map((tool) => ({ ...tool, id: tool.id ?? fingerprint(`${key}:${tool.name}`) }))
  return { mcp: { ...mcp, tools } }
}

/** The versions of tools (the specification, "Version record"). */
export const toolVersions = versionsOf(tools, { shown: ['get'] })
