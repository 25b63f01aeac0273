// Modules that are loaded on first use, so that they do not slow the start.
import { once } from './once.ts'

/**
 * A function that loads a module at its first call. The path must be in a `require` of its own, where the bundler finds
 * it: `lazy<typeof import('./x.ts')>(() => require('./x.ts'))`.
 * @example
 * const numbers = lazy(() => ({ double: (value: number) => 2 * value }))
 * numbers().double(2) // => 4
 */
export const lazy = <Module>(load: () => Module): (() => Module) => once(load)
