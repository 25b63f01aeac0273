// Lists the known models, in the format of OpenAI or Anthropic.
import { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import { inputLimit, knownModels, modelOf } from '../providers/catalogue.ts'
import { MODEL_TABLE_DATE } from '../providers/define.ts'
import { isOfAnthropic, withoutProvider } from './names.ts'

/** A fixed date for every model, so that the list never changes. */
const CREATED = 1_686_935_002
/** Fields that are null for every model. */
const NOTHING = ['capabilities', 'deprecated_at', 'line', 'retires_at']
const OpenaiModel = z.object({
  id: z.string().describe('Id used in requests.'),
  object: z.literal('model').describe('Always `model`.'),
  created: z.int().describe('The same for all models.'),
  owned_by: z.string().describe('The provider.'),
})
const OpenaiModels = z.object({
  object: z.literal('list').describe('Always `list`.'),
  data: z.array(OpenaiModel).describe('The models.'),
})
const AnthropicModel = z.object({
  type: z.literal('model').describe('Always `model`.'),
  id: z.string().describe('Id used in requests.'),
  display_name: z.string().describe('Display name.'),
  created_at: z.string().describe('The same for all models.'),
  lifecycle: z.literal('active').describe('Always `active`.'),
  max_input_tokens: z.int().nullable().describe('Context window in tokens, if known.'),
  max_tokens: z.int().nullable().describe('Maximum of `max_tokens` in a request, if known.'),
  ...Object.fromEntries(NOTHING.map((field) => [field, z.null().describe('Always null.')])),
})
const AnthropicModels = z.object({
  data: z.array(AnthropicModel).describe('The models.'),
  has_more: z.boolean().describe('Whether there are more after them.'),
  first_id: z.string().nullable().describe('Id of the first one.'),
  last_id: z.string().nullable().describe('Id of the last one.'),
})

/** A model with the name for clients and its full id. */
interface ListedModel {
  id: string
  /** `<provider>/<model>` */
  full: string
}

const openaiModel = ({ id, full }: ListedModel): z.infer<typeof OpenaiModel> => ({
  id,
  object: 'model',
  created: CREATED,
  owned_by: full.slice(0, full.indexOf('/')),
})

const anthropicModel = ({ id, full }: ListedModel) => ({
  type: 'model' as const,
  id,
  display_name: id,
  created_at: new Date(CREATED * 1000).toISOString(),
  lifecycle: 'active' as const,
  max_input_tokens: inputLimit(full) ?? null,
  max_tokens: modelOf(full)?.maxOutput ?? null,
  ...Object.fromEntries(NOTHING.map((field) => [field, null])),
})

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(1000).optional().describe("Page size. Anthropic's list only."),
  after_id: z.string().optional().describe("The page starts after this id. Anthropic's list only."),
  before_id: z.string().optional().describe("The page ends before this id. Anthropic's list only."),
})
const ALL = 1000

/** A page of models in Anthropic's format; twenty by default, like Anthropic. */
function anthropicPage(
  models: readonly ListedModel[],
  { limit = 20, after_id: after, before_id: before }: z.infer<typeof Page>,
) {
  const placeOf = (id: string | undefined) => models.findIndex((model) => model.id === id)
  const end = placeOf(before)
  const from =
    before === undefined ? placeOf(after) + 1 : Math.max(0, (end < 0 ? models.length : end) - Math.min(limit, ALL))
  const data = models.slice(from, before === undefined || end < 0 ? from + limit : end)
  const has_more = before === undefined ? from + data.length < models.length : from > 0
  return { data: data.map(anthropicModel), has_more, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

/** The routes for the known models. Those of the API's own provider come first, with names without a provider. */
export function modelRoutes(defaultProvider: string): readonly Route[] {
  const listed = (provider: string): ListedModel[] => {
    const isOwn = (model: string) => model.startsWith(`${provider}/`)
    return knownModels()
      .toSorted((one, other) => Number(isOwn(other)) - Number(isOwn(one)))
      .map((full) => ({ id: isOwn(full) ? withoutProvider(full) : full, full }))
  }
  return [
    asRoute({
      method: 'get',
      path: '/v1/models',
      operationId: 'openaiModels',
      tag: "OpenAI's API",
      summary: 'List models',
      description: `The known models, as of ${MODEL_TABLE_DATE}. Other model names work, too. With the header \`anthropic-version\`, the list has Anthropic's format.`,
      query: Page,
      response: z.union([OpenaiModels, AnthropicModels]),
      handle: ({ request, query }) =>
        isOfAnthropic(request)
          ? anthropicPage(listed('anthropic'), query)
          : { object: 'list', data: listed(defaultProvider).map(openaiModel) },
    }),
    asRoute({
      method: 'get',
      path: '/v1/models/:model',
      operationId: 'openaiModel',
      tag: "OpenAI's API",
      summary: 'Retrieve a model',
      description: "Returns a known model. With the header `anthropic-version`, the response has Anthropic's format.",
      response: z.union([OpenaiModel, AnthropicModel]),
      errors: [404],
      handle({ request, params }) {
        const id = params.model ?? ''
        const provider = isOfAnthropic(request) ? 'anthropic' : defaultProvider
        const full = id.includes('/') ? id : `${provider}/${id}`
        if (!modelOf(full)) {
          const message = `the model ${JSON.stringify(id)} is not known; see /v1/models for the known models`
          throw new ApiError(404, 'model_not_found', message, { param: 'model' })
        }
        const shown = { id: full.startsWith(`${provider}/`) ? withoutProvider(full) : full, full }
        return isOfAnthropic(request) ? anthropicModel(shown) : openaiModel(shown)
      },
    }),
  ]
}
