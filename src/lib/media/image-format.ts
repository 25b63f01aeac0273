// The source of an image file, and the format of a provided one.
import { imageSize } from 'image-size'
import type { ImageFormat, ImageSpec } from './image.ts'

/** A complete file that was provided. */
interface ProvidedImage {
  base64: string
  format: ImageFormat
}
/** The source of an image file. */
export type ImageSource = ImageSpec | ProvidedImage

const FORMATS: Record<string, ImageFormat> = { png: 'png', jpg: 'jpeg', webp: 'webp' }

/**
 * Width and height of an image file.
 * @throws Error if it cannot be read
 */
export const imageDimensions = (bytes: Uint8Array): { width: number; height: number } => imageSize(bytes)

/** The format of a base64 file, by its content; undefined if it is no PNG, JPEG or WebP. */
export function imageFormatOf(base64: string): ImageFormat | undefined {
  try {
    return FORMATS[imageSize(Buffer.from(base64, 'base64')).type ?? '']
  } catch {
    return undefined
  }
}
