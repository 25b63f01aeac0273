// What the document says of properties whose schema says nothing itself. It is read only when the document is made, so that no
// start of the program pays for it.
import { COMMON_WORDS } from './common.ts'
import { EMULATOR_WORDS } from './emulator.ts'
import { MESSAGE_WORDS } from './messages.ts'
import { ROUTER_WORDS } from './router.ts'
import { WORKSPACE_WORDS } from './workspace.ts'

type Json = Record<string, unknown>

/** By the end of a property's path: the longest that fits is taken. */
export const WORDS: Readonly<Record<string, string>> = {
  ...COMMON_WORDS,
  ...MESSAGE_WORDS,
  ...ROUTER_WORDS,
  ...WORKSPACE_WORDS,
  ...EMULATOR_WORDS,
}

/** A property with its description, unless what it refers to has one. */
export function describe(property: Json, path: readonly string[]): Json {
  if (property.description !== undefined) return property
  const [root = '', ...steps] = path
  const names = [root.replace(/Output$/, ''), ...steps]
  for (const from of names.keys()) {
    const words = WORDS[names.slice(from).join('.')]
    if (words !== undefined) return { ...property, description: words }
  }
  return property.const === undefined ? property : { ...property, description: `Always \`${property.const}\`.` }
}
