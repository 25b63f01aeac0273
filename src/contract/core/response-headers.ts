// Headers of a response that a file of the user sets.
import { z } from 'zod'
import { headerText } from '../../lib/header-text.ts'
import { rules } from './rules.ts'

const headersNamed = (name: RegExp) =>
  z.record(
    z.string().regex(name, { error: 'must be the name of a header that does not frame the body' }),
    z
      .union([z.string(), z.number()])
      .transform(rules.text)
      .refine((text) => headerText(text) === text, { error: 'must be visible ASCII of at most 1,000 characters' }),
  )

/**
 * Headers by name, as clients can read them. A number is taken as its text.
 * @example
 * ResponseHeaders.parse({ 'retry-after': 7 }) // => { 'retry-after': '7' }
 * ResponseHeaders.safeParse({ 'x-name': 'Zoë' }).success // => false
 */
export const ResponseHeaders = headersNamed(/^(?!content-|transfer-encoding$|connection$)[\w-]+$/i)

/** The same, of a response whose body may have any type. */
export const TypedResponseHeaders = headersNamed(/^(?!content-(?!type$)|transfer-encoding$|connection$)[\w-]+$/i)
