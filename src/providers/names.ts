// The provider names of model ids: those of the registry and of the settings file.
import { ApiError } from '../contract/core/error.ts'
import { PROVIDERS } from './index.ts'

/** The known names of providers. */
export type ProviderNames = ReturnType<typeof providerNames>

/** The names of the registry and additional ones. */
export function providerNames(additional: Iterable<string>) {
  const known = new Set([...PROVIDERS.map(({ name }) => name), ...additional])
  return {
    known: [...known],
    /**
     * Checks the provider of a model id.
     * @throws ApiError 404 `model_not_found` with `param` if it is unknown
     */
    check(model: string, param = 'model'): void {
      if (known.has(model.slice(0, model.indexOf('/')))) return
      const message = `model ${JSON.stringify(model)} has no known provider; known: ${[...known].join(', ')}`
      throw new ApiError(404, 'model_not_found', message, { param })
    },
  }
}
