// JSON Schema as another library judges it, in the draft that a schema names.
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019'
import { Ajv2020 } from 'ajv/dist/2020'
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json'
import Ajv4 from 'ajv-draft-04'
import addFormats from 'ajv-formats'

const options: Options = { strict: false, logger: false, allErrors: true }
const validators = {
  '2020-12': new Ajv2020(options),
  '2019-09': new Ajv2019(options),
  'draft-07': new Ajv(options),
  'draft-06': new Ajv(options).addMetaSchema(draft6),
  'draft-04': new Ajv4(options),
}
for (const validator of Object.values(validators)) addFormats(validator)

const compiled = new WeakMap<object, ValidateFunction>()

/** The function of a schema: compiled once for each object, since many values are judged by the same schema. */
function validatorOf(schema: object | boolean): ValidateFunction {
  const known = typeof schema === 'object' ? compiled.get(schema) : undefined
  if (known) return known
  const marker = typeof schema === 'object' && '$schema' in schema ? String(schema.$schema) : ''
  const [, ajv = validators['2020-12']] = Object.entries(validators).find(([draft]) => marker.includes(draft)) ?? []
  const validate = ajv.compile(schema)
  if (typeof schema === 'object') {
    ajv.removeSchema(schema)
    compiled.set(schema, validate)
  }
  return validate
}

/** What ajv finds wrong with a value. */
export function judgement(schema: object | boolean, value: unknown) {
  const validate = validatorOf(schema)
  validate(value)
  return validate.errors ?? []
}
