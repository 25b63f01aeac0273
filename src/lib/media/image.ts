// Images drawn from a key: the same bytes for the same request, another landscape for another key.
import { drawLandscape, landscapePalette } from './landscape.ts'
import { type Colour, encodeIndexedPng } from './png.ts'

/** File formats, all encoded with the runtime alone. */
export type ImageFormat = 'png' | 'jpeg' | 'webp'

/** A requested image. */
export interface ImageSpec {
  /** Pixels. */
  width: number
  /** Pixels. */
  height: number
  format: ImageFormat
  /** Quality from 0 to 100: 100 (the default) gives the largest file. Ignored for PNG. */
  compression?: number
  /** Cuts out a disc on a transparent background. Ignored for JPEG, which has no alpha channel. */
  transparent: boolean
  /** Side of the squares that it is drawn in, in pixels, as a preview; default 1. */
  coarseness?: number
  /** The key that the image depends on. */
  key: string
}

/** Share of the palette for the soft rim of a cut-out: shades times steps of alpha. */
const rim = { shades: 8, steps: 8 }
const rimSize = rim.shades * rim.steps

/** The file of an image of exactly the requested size. JPEG and WebP are encoded off the main thread. */
export async function renderImage(spec: ImageSpec): Promise<Uint8Array> {
  const cut = spec.transparent && spec.format !== 'jpeg'
  const levels = inSquares(drawLandscape(spec), spec)
  const palette = cut ? cutOutPalette(spec.key) : landscapePalette(spec.key, 256)
  const png = encodeIndexedPng({ ...spec, pixels: cut ? cutOut(levels, spec) : levels, palette })
  if (spec.format === 'png') return png
  const quality = spec.compression ?? 100
  const image = new Bun.Image(png)
  return spec.format === 'jpeg' ? image.jpeg({ quality }).bytes() : image.webp({ quality }).bytes()
}

/** The same levels in squares, each with the level of its first corner. */
function inSquares(levels: Uint8Array, { width, coarseness: side = 1 }: ImageSpec): Uint8Array {
  if (side <= 1) return levels
  return levels.map((_, at) => {
    const column = at % width
    const row = (at - column) / width
    return levels[(row - (row % side)) * width + column - (column % side)] ?? 0
  })
}

/** Rim colors first, shade by shade from transparent to nearly opaque, then the opaque ones. */
function cutOutPalette(key: string): Colour[] {
  const shades = landscapePalette(key, rim.shades)
  const soft = shades.flatMap((colour) =>
    Array.from({ length: rim.steps }, (_, step) => ({ ...colour, alpha: Math.round((255 * step) / rim.steps) })),
  )
  return [...soft, ...landscapePalette(key, 256 - rimSize)]
}

/** Converts levels to palette indexes of a cut-out: opaque inside a centered disc, transparent outside. */
function cutOut(levels: Uint8Array, { width, height }: ImageSpec): Uint8Array {
  const radius = 0.47 * Math.min(width, height)
  const solid = (255 - rimSize) / 255
  const places = new Uint8Array(levels.length)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * width + x
      const level = levels[at] ?? 0
      const coverage = radius - Math.sqrt((x + 0.5 - width / 2) ** 2 + (y + 0.5 - height / 2) ** 2) + 0.5
      if (coverage >= 1) places[at] = rimSize + Math.round(level * solid)
      else if (coverage > 0)
        places[at] = Math.floor((level * rim.shades) / 256) * rim.steps + Math.floor(coverage * rim.steps)
    }
  }
  return places
}
