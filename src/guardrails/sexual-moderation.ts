// Sexual content, by a short list of English words. Medical and educational terms are not in it.
import { wordGuardrail } from './word-list.ts'

/** The built-in guardrail `svc_sexual_moderation`: English words for sexual content. */
export const sexualModeration = wordGuardrail('sexual_moderation', {
  'sexual acts': [
    '(?:have|having|had|want|wanting) sex',
    '(?:oral|anal|group|rough|kinky) sex',
    'sex (?:scene|story|chat|toys?|tape)',
    'sexting',
    'blow ?jobs?',
    'hand ?jobs?',
    'threesomes?',
    'gang ?bangs?',
    'orgasms?',
    'masturbat(?:e|es|ed|ing|ion)',
    'ejaculat(?:e|es|ed|ing)',
    'cunnilingus',
    'fellatio',
    'deepthroat',
    'fuck (?:me|you|her|him) (?:hard|harder|now)',
  ],
  pornography: [
    'porn',
    'porno',
    'pornograph(?:y|ic)',
    'xxx videos?',
    'hentai',
    'erotica?',
    'nudes',
    'nude (?:photos?|pictures?|pics?|selfies?|images?)',
    'naked (?:photos?|pictures?|pics?|selfies?|women|men|girls?|boys?)',
    'strip ?tease',
    'dildos?',
    'vibrators?',
    'milfs?',
    'bdsm',
    'horny',
    'nsfw',
  ],
  'the sexual abuse of minors': [
    'child porn(?:ography)?',
    'csam',
    'underage (?:sex|nudes|porn|girls?|boys?)',
    'pa?edophil(?:e|es|ia|ic)',
    'lolicon',
  ],
})
