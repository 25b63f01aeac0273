// The names that may stand before the slash of a model id: those of the registry, and those that the settings file adds.
import { ApiError } from '../contract/core/error.ts'
import { PROVIDERS } from './index.ts'

/** The known names of providers. */
export interface ProviderNames {
  readonly known: readonly string[]
  /** 404 `model_not_found` when the provider of a model id, which the field `param` names, is none of them. */
  check(model: string, param?: string): void
}

/** Ids of the models that we know something of; there are more. */
export const knownModels = (): string[] =>
  PROVIDERS.flatMap(({ name, models }) => Object.keys(models ?? {}).map((model) => `${name}/${model}`))

/**
 * The names of the registry and `named` ones.
 * @throws ApiError 404 from its check of an unknown provider
 */
export function providerNames(named: Iterable<string>): ProviderNames {
  const known = new Set([...PROVIDERS.map(({ name }) => name), ...named])
  return {
    known: [...known],
    check(model, param = 'model') {
      if (known.has(model.slice(0, model.indexOf('/')))) return
      const message = `model ${JSON.stringify(model)} has no known provider; known: ${[...known].join(', ')}`
      throw new ApiError(404, 'model_not_found', message, { param })
    },
  }
}
