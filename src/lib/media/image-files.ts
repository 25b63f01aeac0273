// The files of pictures: drawn ones, kept for when they are asked for again, and given ones.
import { imageSize } from 'image-size'
import { byteCache } from '../byte-cache.ts'
import { runJob } from '../worker/pool.ts'
import type { ImageFormat, ImageSpec } from './image.ts'

/** A whole file that somebody gave. */
export interface GivenImage {
  base64: string
  format: ImageFormat
}
/** What a picture's file comes from. */
export type ImageSource = ImageSpec | GivenImage

/** The whole file of a picture. */
export const imageFile = (source: ImageSource): Promise<Uint8Array> =>
  'base64' in source ? Promise.resolve(Buffer.from(source.base64, 'base64')) : drawnImage(source)

const FORMATS: Record<string, ImageFormat> = { png: 'png', jpg: 'jpeg', webp: 'webp' }

/** The format of a file given as base64, by what it holds; undefined when it is no PNG, JPEG or WebP. */
export function imageFormatOf(base64: string): ImageFormat | undefined {
  try {
    return FORMATS[imageSize(Buffer.from(base64, 'base64')).type ?? '']
  } catch {
    return undefined
  }
}

// A file has some 250 kB.
const pictures = byteCache<Promise<Uint8Array>>(32 << 20)

/** How much is remembered of pictures. */
export const imageCacheSize = pictures.size

/** The same wish is drawn once, also when it is made twice at the same time. */
function drawnImage(spec: ImageSpec): Promise<Uint8Array> {
  const key = JSON.stringify(spec)
  const known = pictures.get(key)
  if (known) return known
  const picture = runJob('drawImage', spec)
  // How large it is is only known when it is drawn; about a byte in six pixels until then.
  pictures.set(key, picture, (spec.width * spec.height) / 6)
  picture.then(
    (file) => pictures.set(key, picture, file.length),
    () => pictures.delete(key),
  )
  return picture
}
