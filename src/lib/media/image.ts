// Images drawn from a key: the same bytes for the same request, another landscape for another key. A sky, a sun or a moon, and hills
// that get darker as they come nearer, on one ramp of colors, so that soft edges and mist need at most 256 of them. Only exact
// arithmetic, so that all platforms draw the same image. The encoders of PNG on npm take ten times as long, or write only true color.
import { crc32, deflateSync } from 'node:zlib'
import { chance } from '../chance.ts'

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

interface Canvas {
  width: number
  height: number
  /** One byte per pixel: 0 is the light end of the ramp, 255 the dark end. */
  levels: Uint8Array
}

interface Disc {
  x: number
  y: number
  radius: number
  level: number
  /** Opacity, 0 to 1. */
  strength: number
}

interface Hill {
  level: number
  mist: number
}

/**
 * Draws the landscape of a key: one level per pixel, rows from the top, 0 for the lightest and 255 for the darkest
 * color.
 */
function drawLandscape({ width, height, key }: { width: number; height: number; key: string }): Uint8Array {
  const canvas = { width, height, levels: new Uint8Array(width * height) }
  const between = (from: number, to: number, ...what: (string | number)[]) =>
    from + (to - from) * chance(0, key, ...what)
  const night = between(0, 1, 'night') < 0.35
  const horizon = night ? 80 : 25
  const top = night ? 190 : 95
  for (let y = 0; y < height; y++) canvas.levels.fill(top + ((horizon - top) * y) / height, y * width, (y + 1) * width)

  const radius = between(0.08, 0.2, 'sun') * Math.min(width, height)
  const sun = { x: between(0.3, 0.7, 'sun x') * width, y: between(0.25, 0.45, 'sun y') * height, level: 0 }
  for (let halo = Math.floor(between(0, 4, 'halos')); halo > 0; halo--) {
    fillDisc(canvas, { ...sun, radius: radius * (1 + 0.55 * halo), strength: night ? 0.12 : 0.25 })
  }
  fillDisc(canvas, { ...sun, radius, strength: 1 })

  const hills = Math.floor(between(3, 7, 'hills'))
  const sharp = between(0, 1, 'sharp') < 0.5
  const far = (horizon + top) / 2 + 10
  for (let hill = 0; hill < hills; hill++) {
    const near = (hill + 1) / hills
    const level = far + (250 - far) * near
    const base = (0.45 + 0.45 * near + between(-0.04, 0.04, 'base', hill)) * height
    const rise = between(0.1, 0.24, 'rise', hill) * height
    const length = between(0.5, 1.3, 'length', hill) * height
    const phase = between(0, 1, 'phase', hill)
    const edge = Float64Array.from({ length: width }, (_, x) => base - rise * ridge(phase + x / length, sharp))
    fillBelow(canvas, edge, { level, mist: 30 * (1 - near) })
  }
  return canvas.levels
}

/** The colors of the ramp, the lightest first; hue and saturation change towards the dark end. */
function landscapePalette(key: string, size: number): Colour[] {
  const hue = 360 * chance(0, key, 'hue')
  const turn = (chance(0, key, 'turn') < 0.5 ? -1 : 1) * (50 + 90 * chance(0, key, 'turn by'))
  return Array.from({ length: size }, (_, index) => {
    const dark = index / (size - 1)
    const chroma = 0.05 + 0.32 * dark * (1 - dark) + 0.02 * dark
    const colour = Bun.color(`oklch(${96 - 72 * dark}% ${chroma} ${(hue + turn * dark + 720) % 360})`, '{rgba}')
    if (!colour) throw new Error('a colour of the ramp is not one')
    return { red: colour.r, green: colour.g, blue: colour.b, alpha: 255 }
  })
}

/** A hill's outline from 0 to 1: a long wave with two shorter ones on it. */
function ridge(at: number, sharp: boolean): number {
  const wave = sharp ? triangle : (t: number) => triangle(t) ** 2 * (3 - 2 * triangle(t))
  return 0.6 * wave(at) + 0.28 * wave(at * 2.3 + 0.4) + 0.12 * wave(at * (sharp ? 6.1 : 3.7) + 0.7)
}

/** Rises from 0 to 1 and falls again, once per whole number. */
function triangle(at: number): number {
  return 1 - Math.abs(2 * (at - Math.floor(at)) - 1)
}

function fillDisc({ width, height, levels }: Canvas, disc: Disc): void {
  const reach = disc.radius + 1
  const left = Math.max(0, Math.floor(disc.x - reach))
  const right = Math.min(width, Math.ceil(disc.x + reach))
  const bottom = Math.min(height, Math.ceil(disc.y + reach))
  for (let y = Math.max(0, Math.floor(disc.y - reach)); y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const at = y * width + x
      const inside = disc.radius - Math.sqrt((x + 0.5 - disc.x) ** 2 + (y + 0.5 - disc.y) ** 2)
      levels[at] = mix(levels[at] ?? 0, disc.level, coverage(inside) * disc.strength)
    }
  }
}

/**
 * Fills everything below the edge, which has one height per column. The mist lightens it by so many levels at the
 * bottom.
 */
function fillBelow({ width, height, levels }: Canvas, edge: Float64Array, { level, mist }: Hill): void {
  const solid = Math.max(...edge) + 1
  for (let y = Math.max(0, Math.floor(Math.min(...edge) - 1)); y < height; y++) {
    const misty = Math.round(level - (mist * y) / height)
    const row = levels.subarray(y * width, (y + 1) * width)
    if (y > solid) row.fill(misty)
    else for (let x = 0; x < width; x++) row[x] = mix(row[x] ?? 0, misty, coverage(y + 0.5 - (edge[x] ?? 0)))
  }
}

/** The covered share of a pixel whose center is this many pixels inside. */
function coverage(inside: number): number {
  return Math.min(1, Math.max(0, inside + 0.5))
}

function mix(from: number, to: number, share: number): number {
  return Math.round(from + (to - from) * share)
}

/** A color; each component is 0 to 255. */
interface Colour {
  red: number
  green: number
  blue: number
  alpha: number
}

/** An image of at most 256 colors, one byte per pixel, rows from the top. */
interface IndexedPicture {
  width: number
  height: number
  pixels: Uint8Array
  palette: Colour[]
}

/** The image as a PNG file. Chunks and their order: https://www.w3.org/TR/png-3/ */
function encodeIndexedPng({ width, height, pixels, palette }: IndexedPicture): Uint8Array {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3], 8) // eight bits a pixel, places in a palette
  const rows = Buffer.alloc((width + 1) * height) // each row after a zero: no filter, which suits a palette best
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1)
  const alphas = palette.map(({ alpha }) => alpha)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flatMap(({ red, green, blue }) => [red, green, blue]))),
    ...(alphas.some((alpha) => alpha < 255) ? [chunk('tRNS', Buffer.from(alphas))] : []),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const framed = Buffer.alloc(named.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(named, 4)
  framed.writeUInt32BE(crc32(named), named.length + 4)
  return framed
}
