// Texts of files, and two of them side by side, in CodeMirror, which is evaluated on first use.
import { useEffect, useRef } from 'preact/hooks'
import type { ChartPart } from '../parts/chart.ts'
import type { EditorPart } from '../parts/editor.ts'

const parts = globalThis as { understudyEditor?: EditorPart; understudyChart?: ChartPart }

/** Evaluates the text of a part once. The page's policy has its hash. */
function evaluated<Part>(name: string, part: () => Part | undefined): Part {
  if (!part()) {
    const script = document.createElement('script')
    script.textContent = document.getElementById(`part-${name}`)?.textContent ?? ''
    document.head.append(script)
  }
  const found = part()
  if (!found) throw new Error(`the ${name} could not be loaded`)
  return found
}

/** The part with CodeMirror. */
const editor = (): EditorPart => evaluated('editor', () => parts.understudyEditor)

/** The part with uPlot. */
export const chart = (): ChartPart => evaluated('chart', () => parts.understudyChart)

/** An element with an editor in a shadow root, whose styles the page's policy allows; a new one when `when` changes. */
export function useEditor(when: readonly string[], show: (part: EditorPart, root: ShadowRoot) => () => void) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const host = place.current
    if (!host) return
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    return show(editor(), root)
    // biome-ignore lint/correctness/useExhaustiveDependencies: `when` has what `show` depends on
  }, when)
  return place
}

/** A read-only YAML text. */
export function YamlText({ text, label }: { text: string; label: string }) {
  const place = useEditor([text, label], (part, root) => part.showYaml(root, text, label))
  return <div ref={place} class="editor" />
}

/** A text with its changes against an earlier one, below each other. */
export function TextChanges({ label, before, after }: { label: string; before: string; after: string }) {
  const when = [label, before, after]
  const place = useEditor(when, (part, root) => part.showChanges(root, before, { text: after, label }))
  return <div ref={place} class="editor" />
}

/** The differences between two texts of the same name. */
export function TextDiff({ name, before, after }: { name: string; before: string; after: string }) {
  const place = useEditor([name, before, after], (part, root) =>
    part.showDiff(root, { text: before, label: `${name} of one` }, { text: after, label: `${name} of the other` }),
  )
  return <div ref={place} class="editor" />
}
