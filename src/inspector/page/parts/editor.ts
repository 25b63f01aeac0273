// The part with CodeMirror: editors for texts of files, and differences between two of them.
import { yaml } from '@codemirror/lang-yaml'
import { syntaxHighlighting } from '@codemirror/language'
import { MergeView, unifiedMergeView } from '@codemirror/merge'
import { type ChangeSet, EditorState, type Extension, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers, WidgetType } from '@codemirror/view'

// The colors of syntax tags, by name. The editor's shadow root inherits the page's colors.
const COLORS = {
  propertyName: 'var(--accent)',
  string: 'var(--good)',
  content: 'var(--good)',
  comment: 'var(--text-3)',
}
const classOf = (name: string) => `cm-syntax-${name}`
const highlighting = syntaxHighlighting({
  style(tags) {
    const name = tags.flatMap(({ set }) => set.map(String)).find((tag) => Object.hasOwn(COLORS, tag))
    return name === undefined ? null : classOf(name)
  },
})

const look = EditorView.theme({
  '&': { fontSize: '12px', backgroundColor: 'transparent', color: 'inherit' },
  '.cm-gutters': { backgroundColor: 'transparent', border: 'none', color: 'inherit', opacity: '0.6' },
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--bad-bg) !important' },
  '&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': { backgroundColor: 'var(--good-bg) !important' },
  '.cm-changedText, .cm-changedText *': { background: 'var(--warn-bg) !important' },
  '.cm-collapsedLines': { background: 'var(--bg-3) !important', color: 'var(--text-3) !important' },
  '.cm-problem': { backgroundColor: 'var(--bad-bg)' },
  '.cm-remark': { color: 'var(--bad)', padding: '0 6px 2px', whiteSpace: 'pre-wrap' },
  '.cm-cursor': { borderLeftColor: 'currentColor' },
  ...Object.fromEntries(Object.entries(COLORS).map(([name, color]) => [`.${classOf(name)}`, { color }])),
  '.cm-content': { caretColor: 'currentColor', fontFamily: 'ui-monospace, SFMono-Regular, Menlo, monospace' },
})
const looking = (label: string) => [
  lineNumbers(),
  look,
  highlighting,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ 'aria-label': label }),
]
const reading = (label: string) => [...looking(label), EditorState.readOnly.of(true)]

/** Equal lines around a change that are shown, and how many others are hidden. */
const COLLAPSE = { margin: 3, minSize: 6 }

/** A message about a line, from 1. */
export interface LineRemark {
  line: number
  message: string
}

/** An editable text. */
export type YamlEditor = ReturnType<EditorPart['editYaml']>

class Remark extends WidgetType {
  readonly message: string
  constructor(message: string) {
    super()
    this.message = message
  }
  override eq(other: Remark): boolean {
    return other.message === this.message
  }
  override toDOM(): HTMLElement {
    const element = document.createElement('div')
    element.className = 'cm-remark'
    element.textContent = this.message
    return element
  }
}

const setRemarks = StateEffect.define<readonly LineRemark[]>()
const remarkField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    const effect = transaction.effects.find((one) => one.is(setRemarks))
    if (!effect) return transaction.docChanged ? Decoration.none : marks
    const { doc } = transaction.state
    const ranges = effect.value.flatMap(({ line: number, message }) => {
      const { from, to } = doc.line(Math.max(1, Math.min(doc.lines, number)))
      const under = Decoration.widget({ widget: new Remark(message), side: 1, block: true })
      return [Decoration.line({ class: 'cm-problem' }).range(from), under.range(to)]
    })
    return Decoration.set(ranges, true)
  },
  provide: (field) => EditorView.decorations.from(field),
})

/**
 * The exports of the part: each adds an editor to a shadow root with its own styles, and returns a function that
 * removes it.
 */
export const editorPart = {
  showYaml(root: ShadowRoot, text: string, label: string): () => void {
    const view = new EditorView({ doc: text, extensions: [...reading(label), yaml()], parent: root, root })
    return () => view.destroy()
  },
  editYaml(root: ShadowRoot, { text, label }: { text: string; label: string }, onChange: (text: string) => void) {
    const listener = EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) onChange(state.doc.toString())
    })
    const extensions = [...looking(label), yaml(), writing(), remarkField, listener]
    const view = new EditorView({ doc: text, extensions, parent: root, root })
    return {
      /** Shows messages below their lines, instead of earlier ones. They disappear when the text changes. */
      remark: (remarks: readonly LineRemark[]) => view.dispatch({ effects: setRemarks.of(remarks) }),
      replace: (next: string) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
      destroy: () => view.destroy(),
    }
  },
  showChanges(root: ShadowRoot, before: string, { text, label }: { text: string; label: string }): () => void {
    const changes = unifiedMergeView({
      original: before,
      mergeControls: false,
      gutter: true,
      collapseUnchanged: COLLAPSE,
    })
    const view = new EditorView({ doc: text, extensions: [...reading(label), changes], parent: root, root })
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
      collapseUnchanged: COLLAPSE,
    })
    return () => view.destroy()
  },
}
/** The exports of the editor bundle, which is loaded on first use. */
export type EditorPart = typeof editorPart

Object.assign(globalThis, { understudyEditor: editorPart })

/** Maximum number of changes that can be undone, and how close in time they are merged, in ms. */
const [MAX_CHANGES, TOGETHER_MS] = [500, 500]

/** Undo and redo by the usual keys, and Enter that keeps the indentation. */
function writing(): Extension {
  const done: { inverse: ChangeSet; at: number }[] = []
  const undone: ChangeSet[] = []
  let returning = false
  const remember = EditorView.updateListener.of(({ docChanged, transactions }) => {
    if (!docChanged || returning) return
    undone.length = 0
    for (const { changes, startState: before } of transactions) {
      if (changes.empty) continue
      const inverse = changes.invert(before.doc)
      const last = done.at(-1)
      const now = Date.now()
      if (last && now - last.at < TOGETHER_MS) {
        last.inverse = inverse.compose(last.inverse)
        last.at = now
      } else done.push({ inverse, at: now })
    }
    done.splice(0, done.length - MAX_CHANGES)
  })
  const give = (view: EditorView, changes: ChangeSet | undefined): ChangeSet | undefined => {
    if (!changes) return undefined
    const inverse = changes.invert(view.state.doc)
    returning = true
    view.dispatch({ changes, scrollIntoView: true })
    returning = false
    return inverse
  }
  const undo = (view: EditorView): boolean => {
    const inverse = give(view, done.pop()?.inverse)
    if (inverse) undone.push(inverse)
    return true
  }
  const redo = (view: EditorView): boolean => {
    const inverse = give(view, undone.pop())
    if (inverse) done.push({ inverse, at: 0 })
    return true
  }
  return [
    remember,
    keymap.of([
      { key: 'Mod-z', run: undo, shift: redo, preventDefault: true },
      { key: 'Mod-y', run: redo, preventDefault: true },
      { key: 'Enter', run: newLine },
    ]),
  ]
}

function newLine(view: EditorView): boolean {
  const { state } = view
  const { from, to } = state.selection.main
  const indentation = /^ */.exec(state.doc.lineAt(from).text)?.[0] ?? ''
  const insert = `${state.lineBreak}${indentation}`
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: from + insert.length },
    scrollIntoView: true,
    userEvent: 'input',
  })
  return true
}
