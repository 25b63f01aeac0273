// Packs objects as tuples: default values and names take no space. One table defines both directions.

/** How a value is packed and unpacked. */
export interface Form<Value> {
  pack(value: Value): unknown
  /** @throws Error if the packed value is invalid */
  unpack(stored: unknown): Value
}

/** Marks a value that is in a column of its own, and not in the tuple. */
export const COLUMN = Symbol('column')

/**
 * A field: its name, its default, and the format of other values. The default may depend on earlier fields. A field
 * whose default is undefined is then absent.
 */
type Field<Of> = {
  [Name in keyof Of & string]: readonly [
    name: Name,
    usual?: Of[Name] | ((of: Of) => Of[Name]) | typeof COLUMN,
    form?: Form<Exclude<Of[Name], null | undefined>>,
  ]
}[keyof Of & string]

/** The packing of a kind of object. */
export interface Packing<Of> extends Form<Of> {
  /** The object, given the values of its columns. */
  unpack(stored: unknown, columns?: Partial<Of>): Of
}

type Fields = Record<string, unknown>

/** The table in a form that is fast to read. */
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
/** Whether a value is the default; lists are compared by their items. */
const isSame = (value: unknown, usual: unknown): boolean => value === usual || isSameList(value, usual)

/** Whether a value other than the default itself equals it. */
function equals(value: unknown, usual: unknown, of: Fields): boolean {
  if (typeof usual === 'object') return isSameList(value, usual)
  return typeof usual === 'function' && isSame(value, usual(of))
}

/** Creates the packing of a kind of object. The fields are in the order of the object. */
export function packing<Of extends object>(table: readonly Field<Of>[]): Packing<Of> {
  const fields = table.map(([name, usual, form]): PackedField => ({ name, usual, form: form as Form<unknown> }))
  const stored = fields.filter(({ usual }) => usual !== COLUMN)
  const places = new Map(stored.map(({ name, usual, form }, place) => [name, { place, usual, form }]))
  return {
    pack(of) {
      const tuple: unknown[] = []
      // Every call is packed, and reading what an object has takes half as long as looking for each field.
      for (const name in of) {
        const value: unknown = of[name]
        const field = value == null ? undefined : places.get(name)
        if (!field || value === field.usual || equals(value, field.usual, of as Fields)) continue
        const { place, form } = field
        // `undefined` in a list makes JSON three times as slow.
        while (tuple.length < place) tuple.push(null)
        tuple[place] = form ? form.pack(value) : value
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

/** The packing of a list. */
export const packedList = <Item>({ pack, unpack }: Form<Item>): Form<Item[]> => ({
  pack: (items) => items.map((item) => pack(item)),
  unpack(stored) {
    if (!Array.isArray(stored)) throw new Error('it holds no list')
    return stored.map((item) => unpack(item))
  },
})
