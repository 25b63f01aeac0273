// Descriptions of names that mean the same wherever they stand; everything else is described by its schema.

/** Parameters of paths, which have no schema of their own. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of the record; evaluators have it besides their key.',
  name: 'Name of the session, or of the picture.',
  model: 'Name of the model.',
  project_id: 'Id of the project.',
  dataset_id: 'Id of the dataset.',
  version_id: 'Id of the version record.',
  datapoint_id: 'Id of the datapoint.',
  file_id: 'Id of the file, from its upload.',
  knowledge_id: 'Id of the knowledge base.',
  datasource_id: 'Id of the datasource.',
  chunk_id: 'Id of the chunk.',
  human_eval_set_id: 'Id of the human review set.',
  tool_id: 'Id of the tool.',
  contact_id: 'Id of the contact.',
  memory_store_key: 'Key of the memory store.',
  entity_id: 'Id of the memory, or of the entity (a user, a session) that it is about.',
  document_id: 'Id of the document.',
  key: 'Key or id of the agent.',
  feedback_id: 'Id of the stored feedback (`_id`).',
  event_id: 'Id of the event.',
  task_id: 'Id of the task.',
}

/** Properties whose schema says nothing itself, by name. */
export const PROPERTIES: Readonly<Record<string, string>> = {
  role: 'Whose message it is.',
  strict: 'Whether what the model gives must fit the schema exactly; `false` when left out.',
  email: "The person's e-mail address.",
  knowledge_id: 'Id of the knowledge base.',
  total_tokens: 'Both together.',
  usage: 'Tokens that the call took; in a stream only at the end.',
  call_id: 'Names the call; the item with its result has the same.',
  description: 'What it is for, for people and, of tools and agents, for models too.',
  stream: 'Whether the answer comes as server-sent events.',
  metadata: 'Values of your own, by name; they are stored and given back.',
  sequence_number: 'Which event of the stream it is, from 0.',
  output_index: 'Which item of `output` it is about, from 0.',
  item_id: 'The `id` of that item.',
  content_index: 'Which part of the item it is about, from 0.',
  summary_index: 'Which part of the summary it is about, from 0.',
  session: 'Name of the session.',
  operation: 'Name of the operation, such as `chat.completions`.',
  outcome: 'What became of it.',
  data: 'The page itself.',
  _id: 'Names the record in paths and in other records; given by the server, and never changed.',
  workspace_id: 'The workspace that it belongs to, which the token decides.',
  created_by_id: 'Who made it: the user of the token.',
  updated_by_id: 'Who changed it last: the user of the token.',
  project_id: 'The project that it belongs to, from the first name of its `path`.',
  display_name: 'Its name for people.',
  headers: 'Headers to send, by name: a text, or an object that says whether it is a secret.',
  product: 'Where the generation comes from that the feedback is about.',
}

/**
 * Describes a property of a JSON Schema by its name, or by the only value it may have.
 *
 * @returns the property itself when it has a description, or when there is nothing to say
 */
export function describe(property: Record<string, unknown>, name: string): Record<string, unknown> {
  if (property.description !== undefined) return property
  const description = PROPERTIES[name] ?? (property.const === undefined ? undefined : `Always \`${property.const}\`.`)
  return description === undefined ? property : { ...property, description }
}
