// The outlines that the build has made of schemas; there are none where the program runs from its source.
import { isCompiled, readAsset } from '../lib/assets.ts'
import { once } from '../lib/once.ts'
import type { Outline } from './outline.ts'

/** Where the build puts them: each as a text of JSON, since a start needs but a few. */
export const OUTLINES = 'dist/outlines.json'

const texts = once(
  (): Readonly<Record<string, string>> => (isCompiled ? JSON.parse(new TextDecoder().decode(readAsset(OUTLINES))) : {}),
)

/** The outline of a name. */
export function embeddedOutline(name: string): Outline | undefined {
  const text = texts()[name]
  return text === undefined ? undefined : JSON.parse(text)
}
