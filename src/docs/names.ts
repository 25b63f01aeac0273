// Names of shared schemas, for clients that are generated from the document.
import type { z } from 'zod'
import { Finding } from '../contract/core/finding.ts'
import { RuleReport } from '../contract/core/rule-report.ts'
import {
  AttemptRecord,
  Evaluation,
  GuardrailRecord,
  RetrievalRecord,
  StoredTrace,
  TaskStep,
  TaskTrace,
  TraceRecord,
} from '../contract/core/trace.ts'
import { ExpectationReport, Verification } from '../contract/core/verification.ts'
import { TokenLogprob, Usage } from '../contract/router/chat.ts'
import { Message } from '../contract/router/chat-request.ts'
import { InputItem } from '../contract/router/responses.ts'
import { ModelResponse, OutputItem, ResponseUsage } from '../contract/router/responses-answer.ts'
import { ResponsesTool, ResponsesToolChoice } from '../contract/router/responses-tools.ts'
import { Cache, Identity, LoadBalancer, Retry, Thinking, Thread, Timeout } from '../contract/router/shared.ts'
import { Agent, AgentTool } from '../contract/workspace/agent.ts'
import { AgentTask, RequestMessage, TaskMessage } from '../contract/workspace/agent-task.ts'
import { Chunk } from '../contract/workspace/chunks.ts'
import { Contact } from '../contract/workspace/contact.ts'
import { Datapoint, Dataset } from '../contract/workspace/dataset.ts'
import { Evaluator } from '../contract/workspace/evaluator.ts'
import { Event, Feedback } from '../contract/workspace/feedback.ts'
import { FilterBy } from '../contract/workspace/filter.ts'
import { ChunkingOptions, Datasource, FileRecord, Knowledge } from '../contract/workspace/knowledge.ts'
import { Memory, MemoryDocument, MemoryStore } from '../contract/workspace/memory.ts'
import { Project } from '../contract/workspace/project.ts'
import { ReviewSet } from '../contract/workspace/review-set.ts'
import { Deleted, VersionRecord } from '../contract/workspace/shared.ts'
import { Tool } from '../contract/workspace/tool.ts'

/** Schemas of requests. Where a response differs, its schema name ends in `Output`. */
export const REQUEST_NAMES = (): Record<string, z.ZodType> => ({
  Cache,
  ChatMessage: Message,
  ChunkingOptions,
  FilterBy,
  Identity,
  LoadBalancer,
  ResponsesInputItem: InputItem,
  ResponsesTool,
  ResponsesToolChoice,
  Retry,
  TaskRequestMessage: RequestMessage,
  Thinking,
  Thread,
  Timeout,
})

/** Schemas of responses. */
export const ANSWER_NAMES = (): Record<string, z.ZodType> => ({
  Agent,
  AgentTask,
  AgentTool,
  AttemptRecord,
  Chunk,
  Contact,
  Datapoint,
  Dataset,
  Datasource,
  Deleted,
  Evaluation,
  Evaluator,
  Event,
  ExpectationReport,
  Feedback,
  File: FileRecord,
  Finding,
  GuardrailRecord,
  HumanReviewSet: ReviewSet,
  KnowledgeBase: Knowledge,
  Memory,
  MemoryDocument,
  MemoryStore,
  Project,
  ResponsesOutputItem: OutputItem,
  ResponsesResponse: ModelResponse,
  ResponsesUsage: ResponseUsage,
  RetrievalRecord,
  RuleReport,
  StoredTrace,
  TaskMessage,
  TaskStep,
  TaskTrace,
  TokenLogprob,
  TokenUsage: Usage,
  Tool,
  Trace: TraceRecord,
  Verification,
  VersionRecord,
})
