// Limits the number of variables of a call before its schema is applied, which takes longest for a record of many keys.
import { asObject } from '../../lib/values.ts'
import { ApiError } from '../core/error.ts'

/** Far more variables than anyone writes, and few enough to be checked within milliseconds. */
const MAX_VARIABLES = 10_000

/**
 * Rejects a body with too many `variables` or `svc.inputs`.
 * @param status of the error
 * @throws ApiError with the field and the limit
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
