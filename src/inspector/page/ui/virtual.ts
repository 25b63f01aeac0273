// A list of which only what is seen is drawn.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** What is drawn of a list. */
export interface VirtualList {
  items: readonly { index: number /** Pixels from the first one. */; start: number }[]
  /** Pixels of the whole. */
  height: number
}

/** What a list is like. */
export interface VirtualOptions {
  count: number
  rowHeight: number
  /** Pixels of what stays at the top of the element. */
  above: number
  /** The item that comes into view when it is another one or rows change their height; its index is negative for none. */
  kept: {
    id: string | null
    index: number /** Whether it stays in view when the element's size changes. */
    stays: boolean
  }
}

/** Items that are drawn before and behind those that are seen. */
const BESIDE = 6

/** The items of a list that are seen in an element; all are of the same height. */
export function useVirtual(
  element: { current: HTMLElement | null },
  { count, rowHeight, above, kept }: VirtualOptions,
): VirtualList {
  const [top, setTop] = useState(0)
  // Until its size is known: it is not higher than the window.
  const [seen, setSeen] = useState(Math.ceil(innerHeight / rowHeight))
  /** Scrolls as little as it takes to see an item. */
  const show = (index: number) => {
    const place = element.current
    if (!place) return
    const [from, to] = [index * rowHeight, (index + 1) * rowHeight + above]
    if (from < place.scrollTop) place.scrollTop = from
    else if (to > place.scrollTop + place.clientHeight) place.scrollTop = to - place.clientHeight
  }
  const showKept = useRef<() => unknown>(() => {})
  showKept.current = () => kept.stays && kept.index >= 0 && show(kept.index)
  const shown = useRef('')
  useLayoutEffect(() => {
    const mark = `${kept.id} ${rowHeight}`
    if (kept.index < 0 || shown.current === mark) return
    shown.current = mark
    show(kept.index)
  })
  useLayoutEffect(() => {
    const place = element.current
    if (!place) return
    const scrolled = () => setTop(Math.floor(place.scrollTop / rowHeight))
    // Says the size whenever the browser has laid it out: to ask for it would make it do so at once.
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSeen(Math.ceil(entry.contentRect.height / rowHeight))
      showKept.current()
      scrolled()
    })
    observer.observe(place)
    place.addEventListener('scroll', scrolled, { passive: true })
    return () => {
      observer.disconnect()
      place.removeEventListener('scroll', scrolled)
    }
  }, [element, rowHeight])
  const first = Math.max(0, Math.min(top, count - seen) - BESIDE)
  const length = Math.min(count, Math.max(top, 0) + seen + BESIDE + 1) - first
  return {
    items: Array.from({ length: Math.max(0, length) }, (_, at) => ({
      index: first + at,
      start: (first + at) * rowHeight,
    })),
    height: count * rowHeight + above,
  }
}
