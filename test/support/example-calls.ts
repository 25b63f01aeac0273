// One call of every operation of the document, in an order in which each finds what it needs.
import type { TestApp } from './app.ts'
import { fileOf, formOf, speak } from './translations.ts'
import type { Json } from './workspace.ts'

/** An operation of the document, as far as it is called here. */
export interface CallableOperation {
  method: string
  path: string
  /** The first example of its body. */
  body?: { value: Json; form: boolean } | undefined
}

interface ExampleCall {
  id: string
  /** What is sent instead of the example of the document. */
  body?: (kept: Json) => Json
  query?: string
  headers?: Record<string, string>
  /** Values of later paths, by parameter: where they are in the answer. */
  keep?: Record<string, (answer: Json) => unknown>
  /** It is asked again until this holds. */
  until?: (answer: Json) => boolean
}

const first = (list: Json) => (list.data as Json[])[0] as Json
const own = (param: string, field = '_id') => ({ [param]: (answer: Json) => answer[field] })
const ownVersion = { version_id: (list: Json) => first(list)._id }
const isFilled = ({ data }: Json) => (data as Json[]).length > 0
const question = { role: 'user', parts: [{ kind: 'text', text: 'What day is it?' }] }
const approving = {
  key: 'clerk',
  role: 'Clerk',
  description: 'Asks before it acts.',
  instructions: 'Help.',
  path: 'Default',
  model: 'openai/gpt-4o',
  settings: { tool_approval_required: 'all', tools: [{ type: 'current_date' }] },
}
const calling = { tool_calls: [{ name: 'current_date', arguments: {} }] }
const turns = {
  name: 'turns',
  match: { operation: 'chat.completions', tools: ['current_date'] },
  replies: [calling, calling],
}
const waiting = [
  { id: 'putFixtures', body: () => turns },
  {
    id: 'submitAgentTask',
    body: () => ({ message: question, configuration: { blocking: true } }),
    keep: own('task_id', 'id'),
  },
]

const RECORDS: readonly ExampleCall[] = [
  { id: 'createProject', keep: own('project_id') },
  ...['listProjects', 'getProject', 'updateProject', 'deleteProject'].map((id) => ({ id })),
  { id: 'createDataset', keep: own('dataset_id') },
  { id: 'createDatapoint', keep: own('datapoint_id') },
  ...['listDatasets', 'getDataset', 'updateDataset', 'listDatapoints', 'getDatapoint', 'updateDatapoint'].map((id) => ({
    id,
  })),
  { id: 'listDatasetVersions', keep: ownVersion },
  ...['getDatasetVersion', 'deleteDatapoint', 'clearDataset', 'deleteDataset'].map((id) => ({ id })),
  { id: 'createFile', keep: own('file_id') },
  { id: 'viewWorkspace', query: '?path=/v2/files' },
  { id: 'createKnowledgeBase', keep: own('knowledge_id') },
  { id: 'createDatasource', body: ({ file_id }) => ({ display_name: 'Returns', file_id }), keep: own('datasource_id') },
  { id: 'getDatasource', until: ({ status }) => status === 'completed' },
  ...[
    'countRecords',
    'listFiles',
    'getFile',
    'updateFile',
    'getFileContent',
    'listKnowledgeBases',
    'getKnowledgeBase',
  ].map((id) => ({
    id,
  })),
  ...['updateKnowledgeBase', 'listDatasources', 'updateDatasource'].map((id) => ({ id })),
  { id: 'listChunks', keep: { chunk_id: (list) => first(list)._id } },
  ...['getChunk', 'searchKnowledgeBase', 'createChunks', 'updateChunk', 'findChunks', 'countChunks'].map((id) => ({
    id,
  })),
  ...['deleteChunk', 'deleteChunks', 'deleteDatasource', 'deleteKnowledgeBase', 'deleteFile'].map((id) => ({ id })),
  { id: 'createEvaluator', keep: own('id') },
  ...['listEvaluators', 'getEvaluator', 'updateEvaluator', 'runEvaluator', 'invokeEvaluator'].map((id) => ({ id })),
  { id: 'listEvaluatorVersions', keep: ownVersion },
  ...['getEvaluatorVersion', 'deleteEvaluator'].map((id) => ({ id })),
  { id: 'createHumanReviewSet', keep: own('human_eval_set_id') },
  ...['list', 'get', 'update', 'delete'].map((verb) => ({ id: `${verb}HumanReviewSet${verb === 'list' ? 's' : ''}` })),
  { id: 'createTool', keep: own('tool_id') },
  ...['listTools', 'getTool', 'updateTool'].map((id) => ({ id })),
  { id: 'listToolVersions', keep: ownVersion },
  ...['getToolVersion', 'deleteTool'].map((id) => ({ id })),
  { id: 'createContact', keep: own('contact_id') },
  ...['listContacts', 'getContact', 'updateContact', 'deleteContact'].map((id) => ({ id })),
  { id: 'createMemoryStore', keep: own('memory_store_key', 'key') },
  { id: 'createMemory', keep: own('entity_id') },
  { id: 'createMemoryDocument', keep: own('document_id') },
  ...['listMemoryStores', 'getMemoryStore', 'updateMemoryStore', 'listMemories', 'getMemory'].map((id) => ({ id })),
  ...['updateMemory', 'listMemoryDocuments', 'getMemoryDocument', 'updateMemoryDocument'].map((id) => ({ id })),
  ...['deleteMemoryDocument', 'deleteMemory', 'deleteMemoryStore'].map((id) => ({ id })),
  { id: 'submitFeedback', keep: { given: (answer) => answer } },
  { id: 'listFeedback', keep: { feedback_id: (list) => first(list)._id }, until: isFilled },
  { id: 'listEvents', keep: { event_id: (list) => first(list)._id }, until: isFilled },
  ...['getFeedback', 'getEvent'].map((id) => ({ id })),
  {
    id: 'removeFeedback',
    body: ({ given }) => {
      const { id, trace_id, product } = given as Json
      return { id, trace_id, product }
    },
  },
]

const AGENTS: readonly ExampleCall[] = [
  { id: 'createAgent', keep: own('key', 'key') },
  ...['listAgents', 'getAgent', 'updateAgent'].map((id) => ({ id })),
  { id: 'listAgentVersions', keep: ownVersion },
  { id: 'getAgentVersion' },
  { id: 'deleteAgent' },
  { id: 'createAgent', body: () => approving, keep: own('key', 'key') },
  { id: 'getAgentCard' },
  { id: 'callAgent' },
  { id: 'streamAgentTask', body: () => ({ message: question }) },
  { id: 'runAgent' },
  { id: 'createAgentResponse', keep: own('task_id') },
  { id: 'getAgentResponse' },
  ...waiting,
  { id: 'approveTaskCalls' },
  ...waiting,
  { id: 'rejectTaskCalls' },
  ...waiting,
  ...['cancelAgentTask', 'listAgentTasks', 'getAgentTask', 'deleteFixtures'].map((id) => ({ id })),
]

const picture = { model: 'openai/dall-e-2', prompt: 'a cat', size: '256x256', response_format: 'url' }
const streamed = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 4, stream: true }
const EMULATOR: readonly ExampleCall[] = [
  {
    id: 'imagesGenerations',
    body: () => picture,
    keep: { name: (answer) => String(first(answer).url).split('/').at(-1) },
  },
  { id: 'getPicture' },
  { id: 'embeddings', body: () => ({ model: 'openai/text-embedding-3-small', input: 'Hello', dimensions: 4 }) },
  { id: 'chatCompletions', body: () => streamed },
  { id: 'listTraces', query: '?limit=1', keep: { id: (list) => first(list).id } },
  { id: 'getExchange' },
  ...[
    'chatCompletions',
    'responses',
    'completions',
    'audioTranslations',
    'getHealth',
    'getMetrics',
    'getLiveness',
    'getReadiness',
  ].map((id) => ({
    id,
  })),
  ...['audioTranscriptions', 'audioSpeech', 'imagesEdits', 'imagesVariations', 'moderations'].map((id) => ({ id })),
  { id: 'rerank' },
  { id: 'openaiModels', keep: { model: (list) => first(list).id } },
  { id: 'openaiModel' },
  ...['anthropicMessages', 'anthropicCountTokens'].map((id) => ({ id })),
  { id: 'listTraces', query: '?limit=2', keep: { id: (list) => first(list).id } },
  ...['getTrace', 'getWaterfall', 'getReproduction', 'listCalls', 'getCassettes', 'listScenarios', 'checkScenario'].map(
    (id) => ({
      id,
    }),
  ),
  { id: 'putFixtures' },
  ...['listFixtures', 'deleteFixtures', 'activateScenario', 'getScenario', 'verify'].map((id) => ({
    id,
  })),
  ...['verifyExpectations', 'deactivateScenario'].map((id) => ({ id })),
  { id: 'createSession', keep: own('name', 'name') },
  { id: 'putSession' },
  ...['listSessions', 'getSession', 'moveClock', 'resetSession', 'deleteSession'].map((id) => ({ id })),
  { id: 'saveSnapshot', headers: { 'x-understudy-session': 'empty' }, keep: { snapshot: (answer) => answer } },
  { id: 'loadSnapshot', headers: { 'x-understudy-session': 'empty' }, body: ({ snapshot }) => snapshot as Json },
  ...['seedWorkspace', 'getSeedProgress', 'resetSessions'].map((id) => ({ id })),
]

/** The answer to a call, and what it was. */
export interface ExampleAnswer {
  id: string
  /** The path that was called, with the ids of its records. */
  path: string
  status: number
  type: string
  text: string
}

/** Makes the calls against an application, except those of `skipped` operations; an operation may come more than once. */
export async function* playExamples(
  app: TestApp,
  operations: ReadonlyMap<string, CallableOperation>,
  skipped: (id: string) => boolean = () => false,
): AsyncGenerator<ExampleAnswer> {
  const kept: Json = {}
  const calls = [...EMULATOR, ...RECORDS, ...AGENTS].filter(({ id }) => !skipped(id))
  for (const { id, body: bodyOf, query = '', headers = {}, keep = {}, until } of calls) {
    const operation = operations.get(id)
    if (!operation) throw new Error(`the document has no operation ${id}`)
    const { method, body } = operation
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(kept[name])))
    const value = bodyOf?.(kept) ?? body?.value
    const sent = value && (body?.form ? await formWith(value) : JSON.stringify(value))
    const type: Record<string, string> = typeof sent === 'string' ? { 'content-type': 'application/json' } : {}
    const ask = () =>
      app.fetch(`${path}${query}`, {
        method: method.toUpperCase(),
        headers: { ...headers, ...type },
        ...(sent && { body: sent }),
      })
    let answer = await ask()
    while (until && answer.status === 200 && !until(answer.json())) {
      await Bun.sleep(5)
      answer = await ask()
    }
    if (answer.status < 300) for (const [name, pick] of Object.entries(keep)) kept[name] = pick(answer.json())
    yield {
      id,
      path,
      status: answer.status,
      type: (answer.headers.get('content-type') ?? '').split(';')[0] ?? '',
      text: answer.text,
    }
  }
}

/** A picture of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A form whose file is a text where it is uploaded, and speech where it is translated. */
export async function formWith(value: Json): Promise<FormData> {
  const { file, image, ...fields } = value
  if (image) return formOf({ ...fields, image: new File([PNG], String(image)) })
  const name = String(file)
  return formOf({
    ...fields,
    file: name.endsWith('.txt') ? new File(['You may return it.'], name) : fileOf(await speak('mp3'), name),
  })
}
