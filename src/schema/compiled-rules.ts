// The rules of a compiled schema as functions.

import { rules } from '../contract/core/rules.ts'
import { type Findings, type LiveCheck, NOT_VALID, type Parser, type SchemaRule } from './compiled-schema.ts'

/** The value after a rule: unchanged, unless the rule transforms it. */
export function checkOf(rule: SchemaRule): Parser {
  switch (rule.is) {
    case 'min':
      return (value) => (isShorter(value as Sized, rule.length) ? NOT_VALID : value)
    case 'max':
      return (value) => (isLonger(value as Sized, rule.length) ? NOT_VALID : value)
    case 'above':
      return (value) => ((value as number) > rule.limit || (rule.inclusive && value === rule.limit) ? value : NOT_VALID)
    case 'below':
      return (value) => ((value as number) < rule.limit || (rule.inclusive && value === rule.limit) ? value : NOT_VALID)
    case 'safeint':
      return (value) => (Number.isSafeInteger(value) ? value : NOT_VALID)
    case 'pattern': {
      const pattern = new RegExp(rule.source, rule.flags)
      return (value) => {
        pattern.lastIndex = 0
        return pattern.test(value as string) ? value : NOT_VALID
      }
    }
    case 'test': {
      const test = rules[rule.name] as (value: unknown) => unknown
      return (value) => (test(value) ? value : NOT_VALID)
    }
    case 'finds':
      return looked({ check: rules[rule.name] as LiveCheck['check'], def: {} })
    case 'live':
      return looked(rule.check)
  }
}

type Sized = string | readonly unknown[]
/**
 * The length of a text is its number of code points, which are one or two units each: they are counted only if the
 * number of units does not decide.
 */
const pointsOf = (text: string) => [...text].length
const isShorter = (value: Sized, length: number) =>
  value.length < length ||
  (typeof value === 'string' && length > 1 && value.length < 2 * length && pointsOf(value) < length)
const isLonger = (value: Sized, length: number) =>
  value.length > length && !(typeof value === 'string' && value.length <= 2 * length && pointsOf(value) <= length)

const looked =
  (rule: LiveCheck): Parser =>
  (value) => {
    const findings: Findings = { value, issues: [] }
    if (rule.def.when && !rule.def.when(findings)) return value
    return rule.check(findings) instanceof Promise || findings.issues.length > 0 ? NOT_VALID : findings.value
  }
