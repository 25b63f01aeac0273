// The registry of tool kinds: one line each.
import { globRegex } from '../../lib/match.ts'
import { currentDate } from './current-date.ts'
import type { ToolKind } from './define.ts'
import { queryKnowledgeBase, retrieveKnowledgeBases } from './knowledge.ts'
import { deleteMemoryDocument, queryMemoryStore, retrieveMemoryStores, writeMemoryStore } from './memory.ts'
import { googleSearch, providerTool, webScraper } from './remote.ts'
import { codeTool, functionTool, httpTool, jsonSchemaTool, mcpTool } from './stored.ts'
import { callSubAgent, retrieveAgents } from './team.ts'

/** All tool kinds, in the order in which they are matched to the `type` of an agent's tool entry. */
const toolKinds: readonly ToolKind[] = [
  currentDate,
  functionTool,
  jsonSchemaTool,
  httpTool,
  codeTool,
  mcpTool,
  googleSearch,
  webScraper,
  providerTool,
  retrieveKnowledgeBases,
  queryKnowledgeBase,
  retrieveMemoryStores,
  queryMemoryStore,
  writeMemoryStore,
  deleteMemoryDocument,
  retrieveAgents,
  callSubAgent,
]

/** The kind of a tool's `type`. */
export const toolKindOf = (type: string): ToolKind | undefined =>
  toolKinds.find(({ types }) => types.some((word) => globRegex(word).test(type)))
