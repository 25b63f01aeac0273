// Encodes a model name for the path of a provider. It comes from the client, so it must not lead to another path, which would
// receive the key.
import { ApiError } from '../contract/core/error.ts'
import { quote } from '../schema/validation.ts'

/**
 * Encodes each part of a model name, separated by `/`.
 * @throws ApiError 400 if a part is empty, `.` or `..`
 */
export function modelPath(model: string): string {
  const parts = model.toWellFormed().split('/')
  if (parts.some((part) => /^\.{0,2}$/.test(part))) {
    throw new ApiError(
      400,
      'invalid_model',
      `'model' must not have '.', '..' or nothing between its slashes, since it is part of the provider's address; got ${quote(model)}`,
      { param: 'model' },
    )
  }
  return parts.map(encodeURIComponent).join('/')
}
