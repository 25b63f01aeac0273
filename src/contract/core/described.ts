// Objects and lists of objects with their descriptions, as most schemas contain them.
import { z } from 'zod'

/** An object with its description. */
export const describedObject = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).describe(description)

/** An object with its description, whose further fields are kept. */
export const describedLoose = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.looseObject(shape).describe(description)

/** A list of objects with its description. */
export const describedList = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.array(z.object(shape)).describe(description)

/** An object with its description, or null. */
export const describedOrNull = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.object(shape).nullable().describe(description)

/** An object with its description, whose further fields are kept, or null. */
export const describedLooseOrNull = <Shape extends z.ZodRawShape>(description: string, shape: Shape) =>
  z.looseObject(shape).nullable().describe(description)
