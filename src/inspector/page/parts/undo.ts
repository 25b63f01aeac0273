// Editing beyond typing: undo, and indentation of new lines.
import type { ChangeSet, Extension } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'

/** Maximum number of changes that can be undone, and how close in time they are merged, in ms. */
const [MAX_CHANGES, TOGETHER_MS] = [500, 500]

/** Undo and redo by the usual keys, and Enter that keeps the indentation. */
export function writing(): Extension {
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
