// The names of what several operations share, as clients that are generated from the document call them.
import type { z } from 'zod'
import { Agent, AgentTool } from '../contract/agent.ts'
import { AgentTask, RequestMessage, TaskMessage } from '../contract/agent-task.ts'
import { TokenLogprob, Usage } from '../contract/chat.ts'
import { Message } from '../contract/chat-request.ts'
import { Chunk } from '../contract/chunks.ts'
import { Contact } from '../contract/contact.ts'
import { Datapoint, Dataset } from '../contract/dataset.ts'
import { Evaluator } from '../contract/evaluator.ts'
import { Event, Feedback } from '../contract/feedback.ts'
import { FilterBy } from '../contract/filter.ts'
import { Finding } from '../contract/finding.ts'
import { ChunkingOptions, Datasource, FileRecord, Knowledge } from '../contract/knowledge.ts'
import { Memory, MemoryDocument, MemoryStore } from '../contract/memory.ts'
import { Project } from '../contract/project.ts'
import { InputItem } from '../contract/responses.ts'
import { ModelResponse, OutputItem, ResponseUsage } from '../contract/responses-answer.ts'
import { ResponsesTool, ResponsesToolChoice } from '../contract/responses-tools.ts'
import { ReviewSet } from '../contract/review-set.ts'
import { Cache, Identity, LoadBalancer, Retry, Thinking, Thread, Timeout } from '../contract/shared.ts'
import { Tool } from '../contract/tool.ts'
import {
  AttemptRecord,
  Evaluation,
  GuardrailRecord,
  RetrievalRecord,
  StoredTrace,
  TaskStep,
  TaskTrace,
  TraceRecord,
} from '../contract/trace.ts'
import { ExpectationReport, RuleReport, Verification } from '../contract/verification.ts'
import { Deleted, VersionRecord } from '../contract/workspace.ts'

/** What requests say; where it reads otherwise in an answer, its name there ends in `Output`. */
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

/** What answers say. */
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
