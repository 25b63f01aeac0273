// How many variables a call may have: looked at before the schema does, which takes longest for a record of many keys.
import { asObject } from '../../lib/values.ts'
import { ApiError } from '../core/error.ts'

/** Variables of a call; nobody writes down that many, and so many are checked within some milliseconds. */
const MAX_VARIABLES = 10_000

/**
 * Refuses a body whose `variables` or `svc.inputs` are too many.
 * @param status of the error
 * @throws ApiError that names the field and how many there may be
 */
export function rejectManyVariables(body: unknown, status = 400): void {
  const fields = asObject(body)
  if (!fields) return
  refuseMany('variables', fields.variables, status)
  refuseMany('svc.inputs', asObject(fields.svc)?.inputs, status)
}

function refuseMany(param: string, variables: unknown, status: number): void {
  if (typeof variables !== 'object' || variables === null) return
  const count = Array.isArray(variables) ? variables.length : Object.keys(variables).length
  if (count <= MAX_VARIABLES) return
  const message = `'${param}' must have at most ${MAX_VARIABLES} variables, got ${count}`
  throw new ApiError(status, 'invalid_value', message, { param })
}
