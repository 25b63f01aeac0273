// Facts in the requests of a program: its messages and tool results.
import { asList, asObject, isObject, type JsonObject, objectsIn } from '../lib/values.ts'

/** The facts in a call's request. */
export type RequestFacts = ReturnType<typeof requestFacts>

/** The facts in a request as received. */
export function requestFacts(request: unknown) {
  const body = asObject(request) ?? {}
  const messageList = asList(Array.isArray(body.messages) ? body.messages : body.input)
  const items = objectsIn(messageList)
  const calls = new Map(items.flatMap(callsOf))
  return {
    /** Each message or item, oldest first, with its text; undefined for one of a model. */
    items: messageList.map((item) => ({
      json: JSON.stringify(item),
      text: isObject(item) ? sentText(item) : undefined,
    })),
    /** Whether it continues a response that the server stores. */
    goesOn: typeof body.previous_response_id === 'string',
    /** Tool results with the ids of their calls, and the tool with its arguments, if the request contains them. */
    results: items.flatMap((item) => resultOf(item, calls)),
  }
}

/** The tool calls in an item, by id: those of a chat message, or a single one of a response. */
function callsOf({ type, call_id, name, arguments: args, tool_calls }: JsonObject): [string, string][] {
  if (type === 'function_call') return [[String(call_id), `${name} ${args}`]]
  return objectsIn(tool_calls).map(({ id, function: called }) => {
    const of = asObject(called)
    return [String(id), `${of?.name} ${of?.arguments}`]
  })
}

function resultOf(
  { type, role, tool_call_id, call_id, content, output }: JsonObject,
  calls: ReadonlyMap<string, string>,
) {
  const [id, args] =
    role === 'tool' ? [tool_call_id, content] : type === 'function_call_output' ? [call_id, output] : [undefined]
  if (typeof id !== 'string') return []
  return [{ id, call: calls.get(id), text: typeof args === 'string' ? args : JSON.stringify(args ?? '') }]
}

const MODEL_TYPES = ['function_call', 'reasoning']
const sentText = ({ role, type, content, output }: JsonObject): string | undefined => {
  if (role === 'assistant' || MODEL_TYPES.includes(String(type))) return undefined
  const body = content ?? output
  return typeof body === 'string' ? body : JSON.stringify(body)
}
