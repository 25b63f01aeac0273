// PNG with a palette. The encoders on npm take ten times as long, or write only true color. Chunks and their order:
// https://www.w3.org/TR/png-3/
import { crc32, deflateSync } from 'node:zlib'

/** A color; each component is 0 to 255. */
export interface Colour {
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

/** The image as a PNG file. */
export function encodeIndexedPng({ width, height, pixels, palette }: IndexedPicture): Uint8Array {
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
