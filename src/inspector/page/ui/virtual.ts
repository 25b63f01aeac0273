// A list of which only what is seen is drawn.
import { signal } from '@preact/signals'
import { elementScroll, observeElementOffset, type Rect, type VirtualItem, Virtualizer } from '@tanstack/virtual-core'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** What is drawn of a list. */
export interface VirtualList {
  items: readonly VirtualItem[]
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

type List = Virtualizer<HTMLElement, Element>

/** Says the size of the element whenever the browser has laid it out: to ask for it would make it do so at once. */
function observeSize({ scrollElement }: List, say: (size: Rect) => void): (() => void) | undefined {
  if (!scrollElement) return undefined
  const observer = new ResizeObserver(([entry]) => {
    if (entry) say({ width: Math.round(entry.contentRect.width), height: Math.round(entry.contentRect.height) })
  })
  observer.observe(scrollElement)
  return () => observer.disconnect()
}

/** Scrolls, unless the list is at its top and is to be: a new one is, and to scroll it would have the browser lay out the page. */
const scrollTo: List['options']['scrollToFn'] = (offset, options, list) => {
  if (offset + (options.adjustments ?? 0) > 0 || list.scrollOffset !== 0) elementScroll(offset, options, list)
}

/** The items of a list that are seen in an element; all are of the same height. */
export function useVirtual(
  element: { current: HTMLElement | null },
  { count, rowHeight, above }: VirtualOptions,
): VirtualList {
  const [drawn] = useState(() => signal(0))
  drawn.value
  const [window] = useState({ width: 0, height: innerHeight })
  const made = useRef<List | null>(null)
  const options = {
    count,
    estimateSize: () => rowHeight,
    getScrollElement: () => element.current,
    overscan: 6,
    scrollPaddingStart: above,
    paddingEnd: above,
    scrollToFn: scrollTo,
    // Until its size is known: it is not higher than the window.
    initialRect: window,
    observeElementRect: observeSize,
    observeElementOffset,
    onChange: () => {
      drawn.value++
    },
  }
  made.current ??= new Virtualizer(options)
  const virtualizer = made.current
  virtualizer.setOptions(options)
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer])
  useLayoutEffect(() => virtualizer._willUpdate())
  return {
    items: virtualizer.getVirtualItems(),
    height: virtualizer.getTotalSize(),
    show: (index) => virtualizer.scrollToIndex(index, { align: 'auto' }),
  }
}
