// A list that renders only its visible items.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The properties of a list. */
interface VirtualOptions {
  count: number
  rowHeight: number
  /** Height of the sticky header, in pixels. */
  above: number
  /**
   * The item that is scrolled into view when it changes or rows change their height; its index is negative for none.
   */
  kept: {
    id: string | null
    index: number /** Whether it stays in view when the element's size changes. */
    stays: boolean
  }
}

/** Items that are rendered before and after the visible ones. */
const BESIDE = 6

/** The items of a list that are visible in an element, and the height of the whole list. All have the same height. */
export function useVirtual(
  element: { current: HTMLElement | null },
  { count, rowHeight, above, kept }: VirtualOptions,
) {
  const [top, setTop] = useState(0)
  // Until its size is known: at most that of the window.
  const [seen, setSeen] = useState(Math.ceil(innerHeight / rowHeight))
  /** Scrolls as little as necessary to show an item. */
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
    // Reports the size after each layout. Reading it would force a layout.
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
    /** With the pixels from the first one. */
    items: Array.from({ length: Math.max(0, length) }, (_, at) => first + at).map((index) => ({
      index,
      start: index * rowHeight,
    })),
    height: count * rowHeight + above,
  }
}
