// The provider names of model ids: those of the registry and of the settings file.
import { ApiError } from '../contract/core/error.ts'
import { PROVIDERS } from './index.ts'

/** The known names of providers. */
export interface ProviderNames {
  readonly known: readonly string[]
  /**
   * Checks the provider of a model id.
   * @throws ApiError 404 `model_not_found` with `param` if it is unknown
   */
  check(model: string, param?: string): void
}

/**
 * The names of the registry and additional ones.
 * @throws ApiError 404 from its `check` for an unknown provider
 */
export function providerNames(additional: Iterable<string>): ProviderNames {
  const known = new Set([...PROVIDERS.map(({ name }) => name), ...additional])
  return {
    known: [...known],
    check(model, param = 'model') {
      if (known.has(model.slice(0, model.indexOf('/')))) return
      const message = `model ${JSON.stringify(model)} has no known provider; known: ${[...known].join(', ')}`
      throw new ApiError(404, 'model_not_found', message, { param })
    },
  }
}
