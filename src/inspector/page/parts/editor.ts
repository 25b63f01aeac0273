// The part with CodeMirror: texts of files to read and change, and what differs between two of them.
import { yaml } from '@codemirror/lang-yaml'
import { defaultHighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { MergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'

const look = EditorView.theme({
  '&': { fontSize: '12px', backgroundColor: 'transparent', color: 'inherit' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'inherit', opacity: '0.6' },
  '.cm-content': { fontFamily: 'ui-monospace, SFMono-Regular, Menlo, monospace' },
})
const reading = (label: string) => [
  lineNumbers(),
  look,
  syntaxHighlighting(defaultHighlightStyle),
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
