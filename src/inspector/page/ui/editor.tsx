// Texts of files, and two of them side by side, in CodeMirror, which is evaluated on first use.
import { useCallback, useEffect, useRef } from 'preact/hooks'
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
export const editor = (): EditorPart => evaluated('editor', () => parts.understudyEditor)

/** The part with uPlot. */
export const chart = (): ChartPart => evaluated('chart', () => parts.understudyChart)

/** Adds an editor to a shadow root, whose styles the page's policy allows. A new `show` creates a new editor. */
function useEditor(show: (part: EditorPart, root: ShadowRoot) => () => void) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const host = place.current
    if (!host) return
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    return show(editor(), root)
  }, [show])
  return place
}

/** A read-only YAML text. */
export function YamlText({ text, label }: { text: string; label: string }) {
  const show = useCallback((part: EditorPart, root: ShadowRoot) => part.showYaml(root, text, label), [text, label])
  return <div ref={useEditor(show)} class="editor" />
}

/** A text with its changes against an earlier one, below each other. */
export function TextChanges({ label, before, after }: { label: string; before: string; after: string }) {
  const show = useCallback(
    (part: EditorPart, root: ShadowRoot) => part.showChanges(root, before, { text: after, label }),
    [label, before, after],
  )
  return <div ref={useEditor(show)} class="editor" />
}

/** The differences between two texts of the same name. */
export function TextDiff({ name, before, after }: { name: string; before: string; after: string }) {
  const show = useCallback(
    (part: EditorPart, root: ShadowRoot) =>
      part.showDiff(root, { text: before, label: `${name} of one` }, { text: after, label: `${name} of the other` }),
    [name, before, after],
  )
  return <div ref={useEditor(show)} class="editor" />
}
