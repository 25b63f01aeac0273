// Tools, with a version for each change.
import { Tool, ToolBody, ToolPatch, toolId } from '../contract/tool.ts'
import { defineResource } from './define.ts'
import { projectOf } from './projects.ts'
import { versionsOf } from './versions.ts'

const lookUp = {
  key: 'look_up_order',
  description: 'Finds an order by its number.',
  function: {
    name: 'look_up_order',
    description: 'Finds an order by its number.',
    parameters: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
  },
}

export const tools = defineResource({
  kind: 'tool',
  noun: 'tool',
  plural: 'tools',
  tag: 'Tools',
  path: '/v2/tools',
  param: 'tool_id',
  id: toolId,
  verbs: ['create', 'list', 'get', 'update', 'delete'],
  shown: ['list'],
  examples: { create: { order: lookUp }, update: { described: { description: 'Finds an order.' } } },
  create: ToolBody,
  update: ToolPatch,
  record: Tool,
  key: 'key',
  pageSize: null,
  versioned: true,
  fill: (input, work) => ({ ...input, status: 'live', project_id: projectOf(work, String(input.path)) }),
})

export const toolVersions = versionsOf(tools, { shown: ['get'] })
