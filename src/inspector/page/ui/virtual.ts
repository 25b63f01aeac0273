// A list of which only what is seen is drawn.
import { useLayoutEffect, useState } from 'preact/hooks'

/** What is drawn of a list. */
export interface VirtualList {
  items: readonly { index: number /** Pixels from the first one. */; start: number }[]
  /** Pixels of the whole. */
  height: number
  /** Scrolls as little as it takes to see an item. */
  show(index: number): void
}

/** What a list is like. */
export interface VirtualOptions {
  count: number
  rowHeight: number
  /** Pixels of what stays at the top of the element. */
  above: number
}

/** Items that are drawn before and behind those that are seen. */
const BESIDE = 6

/** The items of a list that are seen in an element; all are of the same height. */
export function useVirtual(
  element: { current: HTMLElement | null },
  { count, rowHeight, above }: VirtualOptions,
): VirtualList {
  const [top, setTop] = useState(0)
  // Until its size is known: it is not higher than the window.
  const [seen, setSeen] = useState(Math.ceil(innerHeight / rowHeight))
  useLayoutEffect(() => {
    const place = element.current
    if (!place) return
    const scrolled = () => setTop(Math.floor(place.scrollTop / rowHeight))
    // Says the size whenever the browser has laid it out: to ask for it would make it do so at once.
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSeen(Math.ceil(entry.contentRect.height / rowHeight))
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
    show(index) {
      const place = element.current
      if (!place) return
      const [from, to] = [index * rowHeight, (index + 1) * rowHeight + above]
      if (from < place.scrollTop) place.scrollTop = from
      else if (to > place.scrollTop + place.clientHeight) place.scrollTop = to - place.clientHeight
    },
  }
}
