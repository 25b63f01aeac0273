// Texts of files, and two of them side by side, in CodeMirror, which is evaluated on first use.
import { useCallback, useEffect, useRef } from 'preact/hooks'
import type { EditorPart } from '../parts/editor.ts'
import { editor } from './part.ts'

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
