// Harmful content, by a short list of English phrases. A verb alone ("kill the process") means nothing, so most have an
// object.
import { wordGuardrail } from './word-list.ts'

const SOMEBODY =
  '(?:him|her|them|you|someone|somebody|people|everyone|everybody|(?:my|his|her|your|our|the) (?:wife|husband|boss|boyfriend|girlfriend|neighbou?rs?|teachers?|parents?|mother|father|brother|sister|children|kids?|colleagues?|family))'
const HOW_MADE = '(?:make|making|build|building|assemble|assembling|construct|detonate|plant) (?:an? |the |some )?'
const DRUGS = '(?:crystal )?(?:meth|methamphetamine|heroin|cocaine|crack|fentanyl|mdma|ecstasy|lsd)'
const GROUP =
  '(?:jews|muslims|christians|black people|white people|asians|immigrants|refugees|gays|gay people|women|disabled people)'

/**
 * The built-in guardrail `svc_harmful_moderation`: English phrases about violence, weapons, self-harm, hate, drugs
 * and crime.
 */
export const harmfulModeration = wordGuardrail('harmful_moderation', {
  violence: [
    `(?:kill|killing|murder|murdering|stab|stabbing|strangle|poison|poisoning|shoot|behead|torture|torturing|hurt) ${SOMEBODY}`,
    '(?:mass|school) shootings?',
    'beat (?:him|her|them|you) up',
    'hire a hit ?man',
    'dismember',
  ],
  weapons: [
    `${HOW_MADE}(?:pipe |car |nail |dirty |petrol |homemade )?(?:bombs?|explosives?|grenades?|molotovs?|silencer)`,
    'molotov cocktails?',
    'ghost guns?',
    'nerve agents?',
    '(?:sarin|mustard) gas',
    'weaponi[sz]e (?:anthrax|a virus|smallpox)',
  ],
  'self-harm': [
    '(?:kill|killing|hurt|hurting|cut|cutting|harm|harming|hang|hanging) (?:myself|yourself|himself|herself)',
    'suicid(?:e|al)',
    'self[- ]harm(?:ing)?',
    '(?:end|ending|take|taking) my (?:own )?life',
    'i (?:want|wish) to die',
  ],
  hate: [
    `(?:hate|despise|exterminate|kill|deport|gas) (?:all |the |all the )?${GROUP}`,
    `${GROUP} are (?:vermin|animals|subhuman|inferior|parasites)`,
    'subhumans?',
    'ethnic cleansing',
    '(?:heil|sieg) h(?:itler|eil)',
    'white (?:power|supremacy)',
    'master race',
  ],
  drugs: [`(?:cook|cooking|synthesi[sz]e|synthesi[sz]ing|make|making|buy|sell|smuggle) (?:some )?${DRUGS}`, 'meth lab'],
  crime: [
    '(?:hack|hacking|break|breaking) into (?:an? |the |my |his |her |their |somebody.?s |someone.?s )?(?:accounts?|computers?|phones?|networks?|houses?|cars?|banks?|e-?mails?)',
    '(?:launder|laundering|counterfeit|counterfeiting) money',
    'rob (?:an? |the )?(?:bank|store|shop)',
    'hot-?wire (?:an? |the )?car',
    '(?:write|create|make|build|deploy) (?:an? |some )?(?:ransomware|malware|keylogger|computer virus|trojan)',
    '(?:forge|fake) (?:an? )?(?:passports?|id cards?)',
    'kidnap',
    'human trafficking',
  ],
})
