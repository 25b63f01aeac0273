// Modules that are loaded when something of them is first asked for: what a call does not need must not slow its start.
import { once } from './once.ts'

/**
 * The exports of a module, loaded at the first call. The path has to stand in a `require` of its own, where the bundler finds
 * it: `lazy<typeof import('./x.ts')>(() => require('./x.ts'))`.
 * @example
 * const numbers = lazy(() => ({ double: (value: number) => 2 * value }))
 * numbers().double(2) // => 4
 */
export const lazy = <Module>(load: () => Module): (() => Module) => once(load)
