// The files of pictures: drawn ones, kept for when they are asked for again, and given ones.
import { imageSize } from 'image-size'
import { type ImageFormat, type ImageSpec, renderImage } from './image.ts'

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

/** A file has some 250 kB, so these are a few megabytes. Bounded: a server runs for days. */
const MOST_PICTURES = 24
const pictures = new Map<string, Promise<Uint8Array>>()

/** The same wish is drawn once, also when it is made twice at the same time. */
function drawnImage(spec: ImageSpec): Promise<Uint8Array> {
  const key = JSON.stringify(spec)
  const picture = pictures.get(key) ?? renderImage(spec)
  // Taken out and put in again, so that the one unused for longest is the first to go.
  pictures.delete(key)
  pictures.set(key, picture)
  const [oldest] = pictures.keys()
  if (pictures.size > MOST_PICTURES && oldest !== undefined) pictures.delete(oldest)
  return picture
}
