// The page on the models that something is known of, by provider.
import { MODEL_TABLE_DATE } from '../../providers/define.ts'
import { PROVIDERS } from '../../providers/index.ts'
import { block, code, page, table } from './markdown.ts'

const number = (value: number | undefined) => value?.toLocaleString('en-US') ?? ''

/** The known models, with their limits and prices. */
export const modelsPage = (): string =>
  page(
    'Models',
    `The server has limits and prices of these models. The newest entry is of ${MODEL_TABLE_DATE}, and some are older. Another model name works too: it has no limits, and its calls have no cost.`,
    block('sh', "curl http://127.0.0.1:8633/v1/models -H 'authorization: Bearer any'"),
    'An id with a date or a version, such as `gpt-4o-2024-08-06` or `mistral-large-latest`, has the facts of the listed id that it begins with. Prices are in US dollars for a million tokens at the standard rate. Discounts for cached input and surcharges for long input are not included.',
    ...PROVIDERS.filter(({ models }) => Object.keys(models).length > 0).flatMap(({ name, models }) => [
      `## Models of ${name}`,
      table(
        ['model', 'context', 'maximum input', 'maximum output', 'reads', 'returns', 'input price', 'output price'],
        Object.entries(models).map(([id, model]) => [
          code(id),
          number(model.context),
          number(model.maxInput),
          number(model.maxOutput),
          model.input.join(', '),
          model.output.join(', '),
          model.price.input?.toString() ?? '',
          model.price.output?.toString() ?? '',
        ]),
      ),
    ]),
    '## Limits of the model table',
    'The table comes from public lists, which can be wrong or late. It has no retirement dates, and no prices of batch, priority or cached use.',
  )
