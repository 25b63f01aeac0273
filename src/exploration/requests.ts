// What the requests of a program's calls say to a judge: what was said in them, and what its tools have given.
import { isObject } from '../lib/values.ts'

/** What a tool has given, as a later request tells the model. */
interface ToldResult {
  /** Of the call of the tool. */
  id: string
  /** The tool with its arguments, where the request says them. */
  call: string | undefined
  text: string
}

/** One message or item. */
interface SaidItem {
  json: string
  /** What it says; undefined of what a model has said. */
  text: string | undefined
}

/** What is known of a call's request. */
export interface RequestFacts {
  /** Each message or item, oldest first. */
  items: readonly SaidItem[]
  /** Whether it goes on with an answer that the server keeps. */
  goesOn: boolean
  results: readonly ToldResult[]
}

interface Item {
  type?: unknown
  role?: unknown
  content?: unknown
  output?: unknown
  call_id?: unknown
  tool_call_id?: unknown
  name?: unknown
  arguments?: unknown
  tool_calls?: unknown
}

/** The facts of a request as it came. */
export function requestFacts(request: unknown): RequestFacts {
  const body: Record<string, unknown> = isObject(request) ? request : {}
  const said = Array.isArray(body.messages) ? body.messages : Array.isArray(body.input) ? body.input : []
  const items = said.filter(isObject) as Item[]
  const calls = new Map(items.flatMap(callsOf))
  return {
    items: said.map((item) => ({ json: JSON.stringify(item), text: isObject(item) ? sentText(item) : undefined })),
    goesOn: typeof body.previous_response_id === 'string',
    results: items.flatMap((item) => resultOf(item, calls)),
  }
}

/** The calls of tools in an item, by id: those of a chat message, or the one that an item of a response is. */
function callsOf({ type, call_id, name, arguments: given, tool_calls }: Item): [string, string][] {
  if (type === 'function_call') return [[String(call_id), `${name} ${given}`]]
  if (!Array.isArray(tool_calls)) return []
  return tool_calls.filter(isObject).map(({ id, function: called }) => {
    const of = isObject(called) ? called : {}
    return [String(id), `${of.name} ${of.arguments}`]
  })
}

function resultOf({ type, role, tool_call_id, call_id, content, output }: Item, calls: ReadonlyMap<string, string>) {
  const [id, given] =
    role === 'tool' ? [tool_call_id, content] : type === 'function_call_output' ? [call_id, output] : [undefined]
  if (typeof id !== 'string') return []
  return [{ id, call: calls.get(id), text: typeof given === 'string' ? given : JSON.stringify(given ?? '') }]
}

const MODEL_SAYS = ['function_call', 'reasoning']
const sentText = ({ role, type, content, output }: Item): string | undefined => {
  if (role === 'assistant' || MODEL_SAYS.includes(String(type))) return undefined
  const said = content ?? output
  return typeof said === 'string' ? said : JSON.stringify(said)
}
