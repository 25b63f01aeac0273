// The registry of tool kinds: one line each.
import { globRegex } from '../../lib/match.ts'
import { callSubAgent } from './call-sub-agent.ts'
import { codeTool } from './code.ts'
import { currentDate } from './current-date.ts'
import type { ToolKind } from './define.ts'
import { deleteMemoryDocument } from './delete-memory-document.ts'
import { functionTool } from './function.ts'
import { googleSearch } from './google-search.ts'
import { httpTool } from './http.ts'
import { jsonSchemaTool } from './json-schema.ts'
import { mcpTool } from './mcp.ts'
import { providerTool } from './provider.ts'
import { queryKnowledgeBase } from './query-knowledge-base.ts'
import { queryMemoryStore } from './query-memory-store.ts'
import { retrieveAgents } from './retrieve-agents.ts'
import { retrieveKnowledgeBases } from './retrieve-knowledge-bases.ts'
import { retrieveMemoryStores } from './retrieve-memory-stores.ts'
import { webScraper } from './web-scraper.ts'
import { writeMemoryStore } from './write-memory-store.ts'

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
