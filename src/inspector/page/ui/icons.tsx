// The icons: strokes of one weight in a square of 16.

/** Paths by name. */
export const ICON_PATHS = {
  calls: 'M2 4h12M2 8h9M2 12h6',
  storm: 'M9 2 4.5 8.5H8L7 14l4.5-6.5H8z',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3l2 1.5',
  sessions: 'M2.5 5.5h8v8h-8zM5.5 5.5v-3h8v8h-3',
  workspace:
    'M2 3.5c0-1 2.7-1.5 6-1.5s6 .5 6 1.5-2.7 1.5-6 1.5-6-.5-6-1.5Zm0 0v9c0 1 2.7 1.5 6 1.5s6-.5 6-1.5v-9M2 8c0 1 2.7 1.5 6 1.5S14 9 14 8',
  agents:
    'M4 6h8a1.5 1.5 0 0 1 1.5 1.5v4A1.5 1.5 0 0 1 12 13H4a1.5 1.5 0 0 1-1.5-1.5v-4A1.5 1.5 0 0 1 4 6Zm4 0V3M6 9.5h.01M10 9.5h.01',
  start: 'm5 3 8 5-8 5z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14',
  close: 'm4 4 8 8M12 4l-8 8',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  check: 'm3 8.5 3 3 7-7',
  docs: 'M3 3c2-.7 3.5-.5 5 .7 1.5-1.2 3-1.4 5-.7v9.5c-2-.7-3.5-.5-5 .7-1.5-1.2-3-1.4-5-.7ZM8 3.7v9.5',
  theme: 'M8 2a6 6 0 1 0 0 12V2Z',
  help: 'M6 6a2 2 0 1 1 2.5 2c-.4.2-.5.5-.5 1v.5M8 12h.01',
  save: 'M8 2v8M5 7l3 3 3-3M3 13h10',
  compare: 'M8 2v12M5 5 2 8l3 3M11 5l3 3-3 3',
} as const

/** Name of an icon. */
export type IconName = keyof typeof ICON_PATHS

/** An icon; a label next to it has the meaning. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICON_PATHS[name]} />
    </svg>
  )
}
