// Objects as tuples: a value that is as usual takes no room, and neither do names. One table makes both directions.

/** How a value is stored in a tuple, and read again. */
export interface Form<Value> {
  pack(value: Value): unknown
  /** @throws Error when what is stored is something else */
  unpack(stored: unknown): Value
}

/** In place of what is usual: the value stands in a column of its own, and has no place in the tuple. */
export const COLUMN = Symbol('column')

/**
 * A field: its name, what it is when the tuple says nothing, and how it is stored when it is otherwise. What is usual may depend on
 * the fields before it; a field that usually is undefined is absent then.
 */
type Field<Of> = {
  [Name in keyof Of & string]: readonly [
    name: Name,
    usual?: Of[Name] | ((of: Of) => Of[Name]) | typeof COLUMN,
    form?: Form<Exclude<Of[Name], null | undefined>>,
  ]
}[keyof Of & string]

/** The tuples of a kind of object. */
export interface Packing<Of> extends Form<Of> {
  /** The object, with what its columns hold. */
  unpack(stored: unknown, columns?: Partial<Of>): Of
}

type Fields = Record<string, unknown>

/** What the table says, in a shape that is read fast. */
interface PackedField {
  name: string
  usual: unknown
  form: Form<unknown> | undefined
}

const usualOf = (usual: unknown, of: Fields): unknown => (typeof usual === 'function' ? usual(of) : usual)

const isSameList = (value: unknown, usual: unknown): boolean =>
  Array.isArray(usual) &&
  Array.isArray(value) &&
  value.length === usual.length &&
  (value.length === 0 || value.every((item, at) => item === usual[at]))
/** Whether a value is the usual one; lists are compared by their items. */
const isSame = (value: unknown, usual: unknown): boolean => value === usual || isSameList(value, usual)

/** Whether a value that is not simply the usual one equals it. */
function equals(value: unknown, usual: unknown, of: Fields): boolean {
  if (typeof usual === 'object') return isSameList(value, usual)
  return typeof usual === 'function' && isSame(value, usual(of))
}

/** Makes the tuples of a kind of object; the fields are in the order in which the object has them. */
export function packing<Of extends object>(table: readonly Field<Of>[]): Packing<Of> {
  const fields = table.map(([name, usual, form]): PackedField => ({ name, usual, form: form as Form<unknown> }))
  const stored = fields.filter(({ usual }) => usual !== COLUMN)
  // Column by column: every call is packed, and to go through objects takes half as long again.
  const names = stored.map(({ name }) => name)
  const usuals = stored.map(({ usual }) => usual)
  const forms = stored.map(({ form }) => form)
  return {
    pack(of) {
      const tuple: unknown[] = []
      // `undefined` in a list makes JSON three times as slow, and what is usual at the end is left out.
      let skipped = 0
      for (let at = 0; at < names.length; at++) {
        const value = (of as Fields)[names[at] ?? '']
        const usual = usuals[at]
        if (value == null || value === usual || equals(value, usual, of as Fields)) skipped++
        else {
          for (; skipped > 0; skipped--) tuple.push(null)
          const form = forms[at]
          tuple.push(form ? form.pack(value) : value)
        }
      }
      return tuple
    },
    unpack(tuple, columns = {}) {
      if (!Array.isArray(tuple)) throw new Error('it is not a list')
      const of: Fields = {}
      let place = 0
      for (const { name, usual, form } of fields) {
        const packed: unknown = usual === COLUMN ? (columns as Fields)[name] : tuple[place++]
        const value = packed == null && usual !== COLUMN ? usualOf(usual, of) : form ? form.unpack(packed) : packed
        if (value !== undefined) of[name] = Array.isArray(value) && value === usual ? [] : value
      }
      return of as Of
    },
  }
}

/** A list of what has a form. */
export const packedList = <Item>({ pack, unpack }: Form<Item>): Form<Item[]> => ({
  pack: (items) => items.map((item) => pack(item)),
  unpack(stored) {
    if (!Array.isArray(stored)) throw new Error('it holds no list')
    return stored.map((item) => unpack(item))
  },
})
