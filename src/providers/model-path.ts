// The name of a model as part of a provider's path. It comes from the client, so it must not lead to another path of the provider, which
// would get the key.
import { ApiError } from '../contract/core/error.ts'
import { quote } from '../schema/validation.ts'

/**
 * The name with each of its parts encoded; `/` stays between them.
 * @throws ApiError 400 for a part that no encoding keeps from being a step in the path
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
