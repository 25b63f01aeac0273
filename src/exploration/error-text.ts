// Whether a program reports an error in a line that it prints.

/** Words of error messages, stack traces and test runners; and the statuses of HTTP errors. */
const WORDS =
  /error|exception|fail|traceback|panic|fatal|abort|refus|reject|denied|invalid|unauthori[sz]ed|unavailable|unable|cannot|can[’']t|could(?: not|n[’']t)|too (?:long|many)|exceed|gave up|giv(?:e|ing) up|exhausted|unreachable|rate.?limit|overloaded|time[d -]?out|filter|(?:status|code|http)\D{0,10}[45]\d\d\b|[✗✘×]/i

const ANSWER = '(?:answer|response|reply|result)s?'
/** Sentences about a call that brought nothing. */
const PHRASES = new RegExp(
  [
    `\\bno ${ANSWER}\\b(?! (?:is |was )?(?:needed|necessary|required|expected))`,
    `\\b(?:without|lacks?|lacking|missing) (?:an? |any |the )?${ANSWER}\\b`,
    "\\b(?:did|does|do|would|will)(?: not|n[’']t) (?:answer|respond|reply|work|succeed|finish|complete|arrive|return|load|connect|come|get|receive|reach)",
    "\\bwon[’']t (?:answer|respond|reply|work)",
    '\\bunanswered\\b|\\bunsuccessful|\\binterrupted\\b|\\bdisconnected\\b|\\bnot (?:available|reachable|working)\\b',
    '\\bwent wrong\\b|\\b(?:try|please retry) (?:it )?(?:again )?(?:again|later)\\b',
  ].join('|'),
  'i',
)

const COUNTED = '(?:errors?|exceptions?|fail(?:s|ed|ing|ures?)?|rejected|refused|aborted|unanswered|time[d -]?outs?)'
/** Statements that there was none. */
const NONE = new RegExp(
  [
    `\\b(?:no|0|zero|without(?: any| an)?|never|not) (?:more |further |other )?${COUNTED}\\b`,
    `\\b${COUNTED}\\b["']?\\s*[:=]?\\s*(?:0(?![\\d.x])|none\\b(?! of)|null\\b|false\\b|\\[\\]|""|'')`,
  ].join('|'),
  'gi',
)

/**
 * Whether a line reports an error.
 * @example
 * reportsError('no answer for one of them') // => true
 * reportsError('2 done, 0 failed') // => false
 */
export function reportsError(line: string): boolean {
  const text = line.replace(NONE, '')
  return WORDS.test(text) || PHRASES.test(text)
}
