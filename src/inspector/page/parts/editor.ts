// The part with CodeMirror: texts of files to read and change, and what differs between two of them.
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { MergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'

// The page's colours reach into the root that the editor lives in.
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--text-3)' },
])

const look = EditorView.theme({
  '&': { fontSize: '12px', backgroundColor: 'transparent', color: 'inherit' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'inherit', opacity: '0.6' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-bg) !important' },
  '&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': { backgroundColor: 'var(--good-bg) !important' },
  '.cm-changedText, .cm-changedText *': { background: 'var(--warn-bg) !important' },
  '.cm-collapsedLines': { background: 'var(--bg-3) !important', color: 'var(--text-3) !important' },
  '.cm-content': { fontFamily: 'ui-monospace, SFMono-Regular, Menlo, monospace' },
})
const reading = (label: string) => [
  lineNumbers(),
  look,
  syntaxHighlighting(colours),
  EditorState.readOnly.of(true),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ 'aria-label': label }),
]

/** What the part gives: each puts an editor into a root with its own styles, and gives what takes it away. */
export const editorPart = {
  showYaml(root: ShadowRoot, text: string, label: string): () => void {
    const view = new EditorView({ doc: text, extensions: [...reading(label), yaml()], parent: root, root })
    return () => view.destroy()
  },
  showDiff(
    root: ShadowRoot,
    before: { text: string; label: string },
    after: { text: string; label: string },
  ): () => void {
    const view = new MergeView({
      a: { doc: before.text, extensions: reading(before.label) },
      b: { doc: after.text, extensions: reading(after.label) },
      parent: root,
      root,
      collapseUnchanged: { margin: 3, minSize: 6 },
    })
    return () => view.destroy()
  },
}
export type EditorPart = typeof editorPart

Object.assign(globalThis, { understudyEditor: editorPart })
