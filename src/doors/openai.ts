// OpenAI's own API at /v1: a program that was written for it works as it is. Its models have no provider before their names.
import { z } from 'zod'
import { ApiError, envelope } from '../contract/error.ts'
import { asRoute, type Route } from '../contract/route.ts'
import type { Wire, WireCall } from '../contract/wire.ts'
import { mapEvents, type StreamEvent } from '../lib/sse.ts'
import { asObject } from '../lib/values.ts'
import { modelOf } from '../providers/catalogue.ts'
import { knownModels } from '../providers/names.ts'
import { renamed, withoutProvider } from './names.ts'

const OPENAI_TAG = "OpenAI's API"

/** Answers name a model as the request did, and errors are told in nothing but `error`. */
export const openaiWire: Wire = {
  put(reply, call) {
    const { body } = reply
    if (body.kind === 'events') {
      return { ...reply, body: { ...body, events: mapEvents(body.events, (event) => eventFor(event, call)) } }
    }
    if (body.kind === 'bytes') return reply
    const value = renamed(body.value, call)
    return value === body.value ? reply : { ...reply, body: { kind: 'value', value } }
  },
  error: (error) => ({ error: envelope(error).error }),
}

function eventFor(event: StreamEvent, call: WireCall): StreamEvent {
  const data = asObject(event.data)
  if (!data) return event
  // A failure in a stream that has begun, in the words of this API.
  if (typeof data.code === 'string' && asObject(data.error)) return { data: { error: data.error } }
  const inner = renamed(data.response, call)
  const put = inner === data.response ? renamed(data, call) : { ...data, response: inner }
  if (put === data) return event
  const { event: name, tokens } = event
  return { ...(name !== undefined && { event: name }), data: put, ...(tokens !== undefined && { tokens }) }
}

/** The body of every error. */
export const OpenaiError = z.object({
  error: z
    .object({
      message: z.string().describe('What is wrong, for people.'),
      type: z.string().describe('The kind of error.'),
      param: z.string().nullable().describe('The field at fault.'),
      code: z.string().describe('What is wrong, for programs.'),
    })
    .describe('The error.'),
})

/** No model has a date here: it would say nothing, and a list of them should not change. */
const CREATED = 1_686_935_002
const ModelObject = z.object({
  id: z.string().describe('How requests name it.'),
  object: z.literal('model').describe('Always `model`.'),
  created: z.int().describe('The same of all.'),
  owned_by: z.string().describe('The provider.'),
})
const ModelList = z.object({
  object: z.literal('list').describe('Always `list`.'),
  data: z.array(ModelObject).describe('The models.'),
})

const modelObject = (model: string, provider: string): z.infer<typeof ModelObject> => ({
  id: model.startsWith(`${provider}/`) ? withoutProvider(model) : model,
  object: 'model',
  created: CREATED,
  owned_by: model.slice(0, model.indexOf('/')),
})

/** The models that something is known of: those of the default provider first, under their bare names. */
export function modelRoutes(provider: string): readonly Route[] {
  const isOwn = (model: string) => model.startsWith(`${provider}/`)
  return [
    asRoute({
      method: 'get',
      path: '/v1/models',
      operationId: 'openaiModels',
      tag: OPENAI_TAG,
      summary: 'List models',
      description: 'The models that something is known of; others answer too.',
      response: ModelList,
      handle: () => ({
        object: 'list',
        data: knownModels()
          .toSorted((one, other) => Number(isOwn(other)) - Number(isOwn(one)))
          .map((model) => modelObject(model, provider)),
      }),
    }),
    asRoute({
      method: 'get',
      path: '/v1/models/:model',
      operationId: 'openaiModel',
      tag: OPENAI_TAG,
      summary: 'Retrieve a model',
      description: 'One that something is known of.',
      response: ModelObject,
      errors: [404],
      handle({ params }) {
        const name = params.model ?? ''
        const model = name.includes('/') ? name : `${provider}/${name}`
        if (modelOf(model)) return modelObject(model, provider)
        const message = `the model ${JSON.stringify(name)} is not known; /v1/models lists those that are`
        throw new ApiError(404, 'model_not_found', message, { param: 'model' })
      },
    }),
  ]
}
