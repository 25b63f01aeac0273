// A list of which only what is seen is drawn.
import { signal } from '@preact/signals'
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core'
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
  keyOf(index: number): string
}

/** The items of a list that are seen in an element; all are of the same height. */
export function useVirtual(
  element: { current: HTMLElement | null },
  { count, rowHeight, above, keyOf }: VirtualOptions,
): VirtualList {
  const [drawn] = useState(() => signal(0))
  drawn.value
  const made = useRef<Virtualizer<HTMLElement, Element> | null>(null)
  const options = {
    count,
    estimateSize: () => rowHeight,
    getScrollElement: () => element.current,
    getItemKey: keyOf,
    overscan: 6,
    scrollPaddingStart: above,
    paddingEnd: above,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => {
      drawn.value++
    },
  }
  made.current ??= new Virtualizer<HTMLElement, Element>(options)
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
