// Texts of files, and two of them side by side, in CodeMirror: the part is evaluated when the first one is shown.
import { useEffect, useRef } from 'preact/hooks'
import type { EditorPart } from '../parts/editor.ts'
import { editor } from './part.ts'

/** Puts an editor into a root of its own, whose styles the page's policy lets in. */
function useEditor(show: (part: EditorPart, root: ShadowRoot) => () => void, when: readonly unknown[]) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const host = place.current
    if (!host) return
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    return show(editor(), root)
  }, when)
  return place
}

/** A text of YAML, to read. */
export function YamlText({ text, label }: { text: string; label: string }) {
  const place = useEditor((part, root) => part.showYaml(root, text, label), [text, label])
  return <div ref={place} class="editor" />
}

/** A text, and what it is called. */
export interface LabelledText {
  text: string
  label: string
}

/** What differs between two texts. */
export function TextDiff({ before, after }: { before: LabelledText; after: LabelledText }) {
  const place = useEditor((part, root) => part.showDiff(root, before, after), [before.text, after.text])
  return <div ref={place} class="editor" />
}
