// What is known of a picture's file: where it comes from, and the format of one that was given.
import { imageSize } from 'image-size'
import type { ImageFormat, ImageSpec } from './image.ts'

/** A whole file that somebody gave. */
interface GivenImage {
  base64: string
  format: ImageFormat
}
/** What a picture's file comes from. */
export type ImageSource = ImageSpec | GivenImage

const FORMATS: Record<string, ImageFormat> = { png: 'png', jpg: 'jpeg', webp: 'webp' }

/** The format of a file given as base64, by what it holds; undefined when it is no PNG, JPEG or WebP. */
export function imageFormatOf(base64: string): ImageFormat | undefined {
  try {
    return FORMATS[imageSize(Buffer.from(base64, 'base64')).type ?? '']
  } catch {
    return undefined
  }
}
