// Descriptions of names with the same meaning everywhere; everything else is described by its schema.

/** Parameters of paths, which have no schema of their own. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of the record. Evaluators also accept their key.',
  name: 'Name of the session or of the image.',
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
  entity_id: 'Id of the memory, or of the entity (such as a user or a session) that it belongs to.',
  document_id: 'Id of the document.',
  key: 'Key or id of the agent.',
  feedback_id: 'Id of the stored feedback (`_id`).',
  event_id: 'Id of the event.',
  task_id: 'Id of the task.',
}

/** Properties without a description in their schema, by name. */
export const PROPERTIES: Readonly<Record<string, string>> = {
  role: "Role of the message's author.",
  strict: 'Whether the model output must match the schema exactly. Default `false`.',
  email: "The person's e-mail address.",
  knowledge_id: 'Id of the knowledge base.',
  total_tokens: 'Total number of tokens.',
  usage: 'Token counts of the call. In a stream, only at the end.',
  call_id: 'Id of the call. The item with its result has the same id.',
  description: 'Description for people. For tools and agents, models read it, too.',
  stream: 'Whether to stream the response as server-sent events.',
  metadata: 'Custom key-value pairs, stored and returned unchanged.',
  sequence_number: 'Index of the event in the stream, from 0.',
  output_index: 'Index of the item in `output`, from 0.',
  item_id: 'Id of the item.',
  content_index: 'Index of the content part in the item, from 0.',
  summary_index: 'Index of the summary part, from 0.',
  session: 'Name of the session.',
  operation: 'Name of the operation, such as `chat.completions`.',
  outcome: 'Outcome.',
  data: 'The records on this page.',
  _id: 'Id of the record, assigned by the server. It never changes.',
  workspace_id: 'The workspace of the record, determined by the token.',
  created_by_id: 'The creator: the user of the token.',
  updated_by_id: 'The last editor: the user of the token.',
  project_id: 'The project of the record: the first segment of its `path`.',
  display_name: 'Display name.',
  headers: 'Headers to send, by name. A value is a string, or an object that marks it as a secret.',
  product: 'The product that produced the rated generation.',
}

/**
 * Describes a property of a JSON Schema by its name, or by its only possible value.
 * @returns the property itself if it has a description, or if there is none to add
 */
export function describe(property: Record<string, unknown>, name: string): Record<string, unknown> {
  if (property.description !== undefined) return property
  const description = PROPERTIES[name] ?? (property.const === undefined ? undefined : `Always \`${property.const}\`.`)
  return description === undefined ? property : { ...property, description }
}
